// The URL of a request: an absolute path as it is, or the base URL and the path joined.

extension RequestBuilder {
    /// Returns the URL before filters and parameters: an absolute path unchanged, otherwise joined with the base URL.
    func url() throws -> (URLParts, isBelowBase: Bool) {
        let path = settings.request.path
        if let absolute = try URLParts(absolute: path) {
            // The path may contain an interpolated component; dots in a URL from elsewhere are resolved as every client
            // does.
            let ownPath = path.prefix { $0 != "?" && $0 != "#" }
            if URLParts.dotSegments(in: ownPath) == .escaped { throw URLParts.dotSegment(in: path) }
            return (absolute, false)
        }
        guard let base = try base(usesCDN: settings.request.usesCDN) else {
            throw NetworkError(
                .invalidBaseURL("the path is relative, and neither its service nor the config has a base URL")
            )
        }
        var parts: URLParts
        switch base.parts {
        case .success(let found): parts = found
        case .failure(let boxed): throw NetworkError(boxed.reason)
        }
        try parts.append(path)
        return (parts, true)
    }

    private func base(usesCDN: Bool) throws -> BaseURL? {
        if let overriding = settings.overridingBaseURL { return overriding }
        guard usesCDN else { return settings.baseURL }
        guard let cdn = settings.cdnURL else {
            throw NetworkError(
                .invalidBaseURL("the request wants the CDN, and neither its service nor the config has its URL")
            )
        }
        return cdn
    }
}
