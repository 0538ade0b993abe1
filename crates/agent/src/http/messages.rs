//! The words of this crate for the person who runs the host: why there is no client.

toolfence_protocol::texts! { "http"
    make_client() {
        en: "make an HTTP client",
        pt: "criar um cliente HTTP",
    }
    no_encryption() {
        en: "This processor lacks instructions that https needs here (AVX2, BMI2, ADX and AES on x86-64). Reach the server by \
             http, through a proxy on this machine that speaks TLS.",
        pt: "Este processador não tem instruções de que o https precisa aqui (AVX2, BMI2, ADX e AES no x86-64). Acesse o servidor \
             por http, por meio de um proxy nesta máquina que fale TLS.",
    }
    read_certificates() {
        en: "read the certificates of this system",
        pt: "ler os certificados deste sistema",
    }
    set_tls_up() {
        en: "set TLS up",
        pt: "configurar o TLS",
    }
    read_proxy() {
        en: "read the URL of the proxy, such as http://proxy.example:3128",
        pt: "ler a URL do proxy, por exemplo http://proxy.example:3128",
    }
    read_authorities() {
        en: "read the certificates of the authorities, which are PEM",
        pt: "ler os certificados das autoridades, que são PEM",
    }
    no_authorities() {
        en: "The file of authorities has no certificate; it is PEM, with lines such as -----BEGIN CERTIFICATE-----.",
        pt: "O arquivo de autoridades não tem nenhum certificado; ele é PEM, com linhas como -----BEGIN CERTIFICATE-----.",
    }
    read_identity() {
        en: "read the client's certificate and private key, which are PEM in one file",
        pt: "ler o certificado e a chave privada do cliente, que são PEM em um só arquivo",
    }
}
