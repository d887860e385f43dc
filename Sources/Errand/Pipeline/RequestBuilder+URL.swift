// The URL of a request: an absolute path as it is, or the base URL and the path joined.

extension RequestBuilder {
    /// A URL before filters and parameters.
    struct Place {
        let parts: URLParts
        /// Whether it was joined with the base URL or the CDN's.
        let isBelowBase: Bool
    }

    /// Returns the URL before filters and parameters: an absolute path unchanged, otherwise joined with the base URL.
    func place() throws -> Place {
        let path = settings.request.path
        if let absolute = try URLParts(absolute: path) {
            // The path may contain an interpolated component; dots in a URL from elsewhere are resolved as every client
            // does.
            let ownPath = path.prefix { $0 != "?" && $0 != "#" }
            if URLParts.dotSegments(in: ownPath) == .escaped { throw URLParts.dotSegment(in: path) }
            return Place(parts: absolute, isBelowBase: false)
        }
        guard let base = try base(usesCDN: settings.request.usesCDN) else {
            throw NetworkError(
                .invalidBaseURL("the path is relative, and neither its service nor the config has a base URL")
            )
        }
        return try place(below: base)
    }

    /// Returns an error with the URL of the request, before filters, if it has a valid one.
    func locating(_ error: NetworkError) -> NetworkError {
        // The method, or the URL itself, may be what the error is about.
        guard error.host == nil, error.reason != .invalidMethod, let url = try? place().parts.url() else {
            return error
        }
        return error.with(url: url, method: settings.request.method)
    }

    /// Returns the same URL below each further URL of the CDN; an unsafe request has none, because another server may be
    /// in another state after it.
    func fallbackPlaces() throws -> [Place] {
        guard settings.request.usesCDN, settings.request.method.isSafe, settings.overridingBaseURL == nil,
            try URLParts(absolute: settings.request.path) == nil
        else { return [] }
        let places = try settings.cdnURLs.map { try place(below: $0) }
        // What https protects is never sent without it.
        let isSecure = places.first?.parts.originKey.hasPrefix("https:") == true
        return places.dropFirst().filter { !isSecure || $0.parts.originKey.hasPrefix("https:") }
    }

    private func place(below base: BaseURL) throws -> Place {
        var parts: URLParts
        switch base.parts {
        case .success(let found): parts = found
        case .failure(let boxed): throw NetworkError(boxed.reason)
        }
        try parts.append(settings.request.path)
        return Place(parts: parts, isBelowBase: true)
    }

    private func base(usesCDN: Bool) throws -> BaseURL? {
        if let overriding = settings.overridingBaseURL { return overriding }
        guard usesCDN else { return settings.baseURL }
        guard let cdn = settings.cdnURLs.first else {
            throw NetworkError(
                .invalidBaseURL("usesCDN is true, but neither the service nor the config has a cdnURL")
            )
        }
        return cdn
    }
}
