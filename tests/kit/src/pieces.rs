//! Splits a text into pieces, as a stream delivers it.

/// An iterator over pieces of a text. A function returns the length of each piece in bytes, which is rounded up to the
/// end of a character.
///
/// A length of 0 gives an empty piece. The iterator ends at the end of the text, so it is endless if the function
/// always returns 0.
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
    /// Splits a text into pieces of the lengths that `length` returns.
    pub fn by(text: &'t str, length: L) -> Pieces<'t, L> {
        Pieces { rest: text, length }
    }
}

impl<'t> Pieces<'t, Box<dyn FnMut() -> usize>> {
    /// Splits a text into pieces of the same length, which must not be 0. With `usize::MAX` there is one piece.
    pub fn every(text: &'t str, length: usize) -> Self {
        assert_ne!(length, 0, "empty pieces never reach the end of a text");
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
