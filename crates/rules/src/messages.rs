//! The words of this crate for people. What the crate `glob` says of a bad pattern stays in English.

toolfence_protocol::texts! { "rules"
    read_path_glob(glob) { en: "read the path glob {glob}", pt: "ler o glob de caminho {glob}" }
}
