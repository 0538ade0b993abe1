//! Notes at the end of results for the model.

use toolfence_protocol::Text;

/// Appends the notes to a text, each in brackets on a line of its own.
pub(super) fn add_notes(text: &mut Text, notes: impl IntoIterator<Item = Text>) {
    for note in notes {
        text.push("[");
        text.push(note);
        text.push("]\n");
    }
}
