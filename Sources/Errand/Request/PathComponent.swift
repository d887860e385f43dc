extension DefaultStringInterpolation {
    /// Interpolates a value as one component of a path: `"/users/\(component: name)"`.
    ///
    /// Percent-encodes everything but letters, digits, `-`, `.`, `_` and `~`, so that no value can add a component, a
    /// query or a fragment to the path, nor end it. A component that is `.` or `..` cannot be represented in a URL: a
    /// request with such a path fails with ``NetworkError/Kind/invalidRequest``, and nothing is sent. An empty value
    /// results in an empty component; check values that can be empty in ``Request/check()``.
    ///
    /// Source: RFC 3986, sections 2.3 and 3.3.
    ///
    /// - Parameter value: A value whose description is the component, such as a name or an identifier.
    public mutating func appendInterpolation(component value: some CustomStringConvertible) {
        let text = value.description
        // Dots are escaped to distinguish them from those that are part of a path's own text.
        appendLiteral(text == "." ? "%2E" : text == ".." ? "%2E%2E" : PercentEncoding.escapingComponent(text))
    }

    /// Interpolates a secret as a component of a path, or a part of one: `"/bot\(secret: token)/messages"`.
    ///
    /// It is encoded and sent like a ``appendInterpolation(component:)``. Errors, logs, plans and curl commands show a mask in
    /// its place: `/bot•••/messages`. The text contains marks that building the request removes, so use it only in the
    /// ``Request/path`` of a request and in the text of a ``BaseURL``. A header field with such a text is rejected.
    ///
    /// - Parameter value: A value whose description is the secret, such as a token.
    public mutating func appendInterpolation(secret value: some CustomStringConvertible) {
        appendLiteral(DeclaredPath.marking("\(component: value)"))
    }
}
