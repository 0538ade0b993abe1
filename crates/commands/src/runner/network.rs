//! Recognises output that mentions a failed name lookup or an unreachable network.

/// Messages that programs print if a name cannot be looked up, or if there is no route to an address.
const MESSAGES: &[&str] = &[
    // curl, cargo, git, ssh, composer; "host" and "hostname".
    "ould not resolve host",
    "ouldn't resolve host",
    // The C library, in the words of python, pip, wget, uv, gem, maven, gradle, PHP and Perl.
    "emporary failure in name resolution",
    "Name or service not known",
    "No address associated with hostname",
    // musl.
    "Name does not resolve",
    // Python, even if the C library prints another language.
    "[Errno -2]",
    "[Errno -3]",
    "[Errno -5]",
    // Node, npm, pnpm, yarn.
    "EAI_AGAIN",
    "getaddrinfo ENOTFOUND",
    "ENETUNREACH",
    // Go and docker: "dial tcp: lookup proxy.golang.org on ...".
    "dial tcp: lookup ",
    // Go, ssh, wget and busybox if an address is unreachable: "dial udp 9.9.9.9:53: connect: network is unreachable".
    "etwork is unreachable",
    // wget, including that of busybox.
    "unable to resolve host address",
    "bad address '",
    // Rust.
    "failed to lookup address information",
    // apt: "Temporary failure resolving 'deb.debian.org'".
    "emporary failure resolving",
    // Java, maven.
    "UnknownHostException",
    ": Unknown host ",
    // Bundler.
    "Could not reach host ",
];

/// Returns `true` if `output` has a program's message about a failed name lookup. A command can print such text itself.
///
/// Output that was too long has only its beginning and its end. Each message is searched once.
pub(super) fn mentions_failed_lookup(output: &str) -> bool {
    MESSAGES.iter().any(|message| memchr::memmem::find(output.as_bytes(), message.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_failed_lookups_are_recognised() {
        for output in [
            "curl: (6) Could not resolve host: example.com\n",
            "curl: (6) Couldn't resolve host 'example.com'\n",
            "fatal: unable to access 'https://example.com/a.git/': Could not resolve host: example.com\n",
            "ssh: Could not resolve hostname example.com: Temporary failure in name resolution\n",
            "warning: spurious network error (3 tries remaining): [6] Could not resolve hostname (Could not resolve host: \
             index.crates.io)\n",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution\n",
            "socket.gaierror: [Errno -3] Erro temporário em resolução de nome\n",
            "socket.gaierror: [Errno -2] Name or service not known\n",
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(\"Failed to establish a new \
             connection: [Errno -3] Temporary failure in name resolution\")': /simple/x/\nERROR: Could not find a version\n\
             ERROR: No matching distribution found for x\n",
            "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\n",
            "Error: getaddrinfo ENOTFOUND example.com\n",
            "go: example.com/m@v1.0.0: Get \"https://proxy.golang.org/\": dial tcp: lookup proxy.golang.org on [::1]:53: read udp \
             [::1]:4->[::1]:53: read: connection refused\n",
            "dial tcp: lookup proxy.golang.org: dial udp 9.9.9.9:53: connect: network is unreachable\n",
            "wget: unable to resolve host address 'example.com'\n",
            "wget: bad address 'example.com'\n",
            "ssh: connect to host 192.0.2.1 port 22: Network is unreachable\n",
            "W: Failed to fetch http://deb.debian.org/debian/InRelease  Temporary failure resolving 'deb.debian.org'\n",
            "ERROR:  Could not find a valid gem 'x' (>= 0), here is why:\n          Unable to download data from \
             https://rubygems.org/ - Failed to open TCP connection to rubygems.org:443 (getaddrinfo(3): Temporary failure in \
             name resolution)\n",
            "Could not reach host index.rubygems.org. Check your network connection and try again.\n",
            "[ERROR] Could not transfer artifact a:b:pom:1 from/to central: repo.maven.apache.org: Unknown host \
             repo.maven.apache.org\n",
            "java.net.UnknownHostException: example.com\n",
            "docker: Error response from daemon: Get \"https://registry-1.docker.io/v2/\": dial tcp: lookup registry-1.docker.io: \
             no such host\n",
            "error: error sending request for url (https://pypi.org/simple/x/)\n  Caused by: dns error\n  Caused by: failed to \
             lookup address information: Try again\n",
        ] {
            assert!(mentions_failed_lookup(output), "{output}");
        }
    }

    #[test]
    fn other_failures_are_not_failed_lookups() {
        for output in [
            "",
            "error: could not compile `x`\n",
            "curl: (7) Failed to connect to 127.0.0.1 port 8080: Connection refused\n",
            "npm error code E404\nnpm error 404 Not Found\n",
            "FileNotFoundError: [Errno 2] No such file or directory: 'a'\n",
            "fatal: 'origin' does not appear to be a git repository\n",
            "error[E0433]: failed to resolve: use of undeclared type `Host`\n",
            "bad address in system call argument\n",
        ] {
            assert!(!mentions_failed_lookup(output), "{output}");
        }
    }

    #[test]
    fn the_beginning_and_the_end_are_searched() {
        let long = "x\n".repeat(50_000);
        assert!(mentions_failed_lookup(&format!("{long}npm error code EAI_AGAIN\n")));
        assert!(mentions_failed_lookup(&format!("EAI_AGAIN\n{long}")));
    }
}
