import Errand

/// Which values of a cassette are secret, by their names.
struct CassetteSecretNames: Sendable, Equatable {
    /// The lists of agents and of the cassette.
    var lists: [Secrets]
    /// Whether the names are those of a response, whose `code` is that of an envelope, and not one for a login.
    var isOfResponse = false

    func contains(header name: String) -> Bool { lists.contains { $0.isSecret(header: name) } }

    func contains(_ name: String) -> Bool {
        !(isOfResponse && name.lowercased() == "code") && lists.contains { $0.isSecret(queryName: name) }
    }

    /// Whether a value is secret by its name.
    func contains(_ name: String, value: String) -> Bool { contains(name) || contains(refresh: name, value: value) }

    /// Whether a value is a token named `refresh`, which may also be the name of an interval.
    func contains(refresh name: String, value: String) -> Bool {
        name.lowercased() == "refresh" && CassetteSecrets.looksLikeToken(value)
    }
}
