//! A text in pieces, as a stream brings it.

/// The pieces of a text, each as long as a function says: so many bytes, and the rest of the character that they end in.
///
/// A length of 0 gives an empty piece. The pieces end with the text, so a function that says 0 for ever gives pieces for
/// ever.
///
/// ```
/// use toolfence_kit::Pieces;
/// assert_eq!(Pieces::every("añb", 2).collect::<Vec<_>>(), ["añ", "b"]);
/// let mut lengths = [1, 0, 9].into_iter();
/// assert_eq!(Pieces::by("abc", || lengths.next().unwrap()).collect::<Vec<_>>(), ["a", "", "bc"]);
/// ```
#[derive(Debug)]
pub struct Pieces<'t, L> {
    rest: &'t str,
    length: L,
}

impl<'t, L: FnMut() -> usize> Pieces<'t, L> {
    /// The pieces of a text, each of the length that `length` says next.
    pub fn by(text: &'t str, length: L) -> Pieces<'t, L> {
        Pieces { rest: text, length }
    }
}

impl<'t> Pieces<'t, Box<dyn FnMut() -> usize>> {
    /// Pieces that are all of one length, which is not 0; with `usize::MAX` there is one piece.
    pub fn every(text: &'t str, length: usize) -> Self {
        assert_ne!(length, 0, "pieces of no length never come to the end of a text");
        Pieces::by(text, Box::new(move || length))
    }
}

impl<'t, L: FnMut() -> usize> Iterator for Pieces<'t, L> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let mut end = (self.length)().min(self.rest.len());
        while !self.rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(piece)
    }
}
