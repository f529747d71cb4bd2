//! What becomes of conversations' files by other hands: they are spoilt, and they come back.

use std::path::Path;

use super::World;
use super::agents::{MESSAGE, head};
use super::files::Files;
use super::talks::Talk;

impl World {
    /// What was lost of conversations' files comes back, from a copy say, and in each something was said.
    pub fn mend_talks(&self) {
        self.peek(|machine| {
            let mut talks = std::mem::take(&mut machine.talks.all);
            for (id, talk) in &mut talks {
                let more =
                    if talk.text.is_empty() { head(talk.vendor, id, Path::new("/home/u")) } else { String::new() };
                talk.text.extend(more.bytes().chain(MESSAGE.bytes()));
                talk.prompted = true;
                let made = talk.file.parent().is_some_and(|dir| machine.files.make_dir(dir).is_ok());
                // A plain file below a directory that was just made.
                let again =
                    |files: &mut Files| files.remove(&talk.file).and_then(|()| files.create(&talk.file, &talk.text));
                talk.maimed |= !made || again(&mut machine.files).is_err();
            }
            machine.talks.all = talks;
        });
    }

    /// The file of some conversation is removed, emptied, cut, replaced by another's, or brought back; says how.
    pub fn spoil_talk(&self) -> String {
        self.peek(|machine| {
            let written = |talk: &&Talk| talk.session.is_some() && !talk.text.is_empty();
            let all: Vec<Talk> = machine.talks.all.values().filter(written).cloned().collect();
            let Some(talk) = machine.random.pick(&all).cloned() else { return "no conversation to spoil".to_owned() };
            let (what, text) = match machine.random.below(5) {
                0 => ("removed", None),
                1 => ("emptied", Some(Vec::new())),
                2 => ("cut", Some(talk.text[..talk.text.len().min(20)].to_vec())),
                3 => ("another's", Some(head(talk.vendor, "another", Path::new("/home/u")).into_bytes())),
                _ => ("brought back", Some(talk.text.clone())),
            };
            let file = &talk.file;
            // What is written there is replaced; a directory in the way is nobody's doing here.
            let _ = machine.files.remove(file);
            if let Some(text) = text {
                let _ = machine.files.create(file, &text);
            }
            for other in machine.talks.all.values_mut().filter(|other| other.file == *file) {
                other.maimed = true;
            }
            format!("the file {} is {what}", file.display())
        })
    }
}
