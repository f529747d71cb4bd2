use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use super::*;

fn bed() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    // Longer than a socket's address has room for.
    let deep = dir.path().join("d".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    let path = deep.join("web.sock");
    (dir, path)
}

/// Accepts the one who calls.
fn accept(listener: &Listener) -> Peer {
    let begun = Instant::now();
    loop {
        if let Some(peer) = listener.accept(1).pop() {
            return peer;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "nobody called");
        std::thread::yield_now();
    }
}

fn line(peer: &mut Peer) -> Result<Vec<u8>, Hangup> {
    let begun = Instant::now();
    loop {
        if let Some(line) = peer.line()? {
            return Ok(line);
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "nothing was said");
        std::thread::yield_now();
    }
}

#[test]
fn lines_go_both_ways_over_a_path_of_any_length_that_only_its_owner_may_use() {
    let (_dir, path) = bed();
    let listener = Listener::bind(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let mut call = Call::to(&path).unwrap();
    let mut peer = accept(&listener);
    assert_eq!(peer.pid, i32::try_from(std::process::id()).unwrap());
    call.say(b"one").unwrap();
    call.say(b"two").unwrap();
    assert_eq!((line(&mut peer).unwrap(), line(&mut peer).unwrap()), (b"one".to_vec(), b"two".to_vec()));
    assert!(!peer.has_line());
    peer.say(b"answer").unwrap();
    assert_eq!(call.line(Duration::from_secs(10)).unwrap(), Some(b"answer".to_vec()));
    assert_eq!(call.line(Duration::from_millis(5)).unwrap(), None);
    drop(peer);
    assert_eq!(call.line(Duration::from_secs(10)).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_socket_that_a_dead_process_left_is_replaced_and_its_own_is_removed_at_the_end() {
    let (_dir, path) = bed();
    // Closed, and still there.
    let (_held, short) = address(&path).unwrap();
    drop(UnixListener::bind(short).unwrap());
    assert!(Call::to(&path).is_err());
    let listener = Listener::bind(&path).unwrap();
    Call::to(&path).unwrap();
    drop(listener);
    assert!(!path.exists());
}

#[test]
fn a_line_without_end_is_not_collected() {
    let (_dir, path) = bed();
    let listener = Listener::bind(&path).unwrap();
    let mut call = Call::to(&path).unwrap();
    let mut peer = accept(&listener);
    let sender = std::thread::spawn(move || {
        // Its other end hangs up before all of it is sent.
        let _ = call.say(&vec![b'x'; MAX_REQUEST * 2]);
    });
    assert_eq!(line(&mut peer), Err(Hangup::TooLong));
    drop(peer);
    sender.join().unwrap();
}

#[test]
fn a_peer_that_does_not_read_is_given_up_and_never_waited_for() {
    let (_dir, path) = bed();
    let listener = Listener::bind(&path).unwrap();
    let _deaf = Call::to(&path).unwrap();
    let mut peer = accept(&listener);
    let mut said = Ok(());
    for _ in 0..20 {
        said = said.and_then(|()| peer.say(&vec![b'x'; 1 << 20]));
    }
    assert_eq!(said, Err(Hangup::Deaf));
}

#[test]
fn a_peer_that_hung_up_is_gone() {
    let (_dir, path) = bed();
    let listener = Listener::bind(&path).unwrap();
    let mut call = Call::to(&path).unwrap();
    let mut peer = accept(&listener);
    call.say(b"last words").unwrap();
    drop(call);
    assert_eq!(line(&mut peer), Ok(b"last words".to_vec()));
    assert_eq!(line(&mut peer), Err(Hangup::Gone));
}

#[test]
fn those_who_call_are_let_in_as_many_at_a_time_as_asked() {
    let (_dir, path) = bed();
    let listener = Listener::bind(&path).unwrap();
    let _calls: Vec<Call> = (0..3).map(|_| Call::to(&path).unwrap()).collect();
    assert_eq!((listener.accept(2).len(), listener.accept(2).len(), listener.accept(2).len()), (2, 1, 0));
}

#[test]
fn what_was_read_and_not_taken_yet_is_known() {
    let (_dir, path) = bed();
    let listener = Listener::bind(&path).unwrap();
    let mut call = Call::to(&path).unwrap();
    let mut peer = accept(&listener);
    call.say(b"one\ntwo").unwrap();
    assert_eq!(line(&mut peer), Ok(b"one".to_vec()));
    assert!(peer.has_line());
    assert_eq!(line(&mut peer), Ok(b"two".to_vec()));
    assert!(!peer.has_line());
}
