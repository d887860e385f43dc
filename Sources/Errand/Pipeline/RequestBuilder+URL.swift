internal import Foundation

// The URL of a request: an absolute path unchanged, or the base URL and the path joined.

extension RequestBuilder {
    /// A URL before filters and parameters.
    enum Place {
        /// An absolute URL, or one of several of a CDN.
        case found(URLParts, DeclaredPath, isBelowBase: Bool)
        /// A path below a base URL, kept for the next request of the same type.
        case joined(URLParts, DeclaredPath, BaseURL)
        /// The same base URL and path as an earlier request's.
        case known(RecentURLs.Entry)

        var parts: URLParts {
            switch self {
            case .found(let parts, _, _), .joined(let parts, _, _): parts
            case .known(let recent): recent.place
            }
        }

        /// The shown path, whatever changes the URL.
        var declared: DeclaredPath {
            switch self {
            case .found(_, let declared, _), .joined(_, let declared, _): declared
            case .known(let recent): recent.declared
            }
        }

        /// Whether it was joined with the base URL or the CDN's.
        var isBelowBase: Bool { if case .found(_, _, let isBelowBase) = self { isBelowBase } else { true } }
    }

    /// Returns the URL before filters and parameters: an absolute path unchanged, otherwise joined with the base URL.
    func place() throws -> Place {
        let path = settings.request.path
        let recent = settings.config.urls[send.type.id]
        if let recent, recent.hasPath(path),
            let base = try base(usesCDN: settings.request.usesCDN), base == recent.base
        {
            return .known(recent)
        }
        let sent = DeclaredPath.removingMarks(path)
        if let absolute = try URLParts(absolute: sent) {
            // The path may contain an interpolated component; dots in a URL from elsewhere are resolved as every client
            // does.
            let ownPath = sent.prefix { $0 != "?" && $0 != "#" }
            if URLParts.dotSegments(in: ownPath) == .escaped { throw URLParts.dotSegment(in: path) }
            return .found(absolute, DeclaredPath(path), isBelowBase: false)
        }
        guard let base = try base(usesCDN: settings.request.usesCDN) else {
            throw NetworkError(
                .invalidURL(
                    "the path '\(DeclaredPath.shown(path).shortened())' is relative, and neither its service nor the config "
                        + "has a base URL; give an absolute http or https URL"
                )
            )
        }
        return .joined(try parts(below: base), DeclaredPath(path, below: base.shownPath), base)
    }

    /// Returns the URL of a request, from an earlier request if it is the same.
    func url(of parts: URLParts, at place: Place) throws(NetworkError) -> URL {
        let base: BaseURL
        switch place {
        case .found: return try parts.url()
        case .joined(_, _, let own): base = own
        case .known(let recent):
            if recent.parts == parts { return recent.url }
            base = recent.base
        }
        let url = try parts.url()
        let entry = RecentURLs.Entry(base: base, declared: place.declared, place: place.parts, parts: parts, url: url)
        settings.config.urls[send.type.id] = entry
        return url
    }

    /// Returns an error with the URL of the request, before filters, if it has a valid one.
    func locating(_ error: NetworkError) -> NetworkError {
        // The error may be about the method, or the URL itself.
        guard error.host == nil, error.reason != .invalidMethod, let place = try? place(),
            let url = try? place.parts.url()
        else { return error }
        return error.with(url: url, method: settings.request.method, path: place.declared)
    }

    /// Returns the same URL below each further URL of the CDN; an unsafe request has none, because another server may be
    /// in another state after it.
    func fallbackPlaces() throws -> [Place] {
        guard settings.request.usesCDN, settings.request.method.isSafe, settings.overridingBaseURL == nil,
            try URLParts(absolute: settings.request.path) == nil
        else { return [] }
        let places = try settings.cdnURLs.map { base in
            let declared = DeclaredPath(settings.request.path, below: base.shownPath)
            return Place.found(try parts(below: base), declared, isBelowBase: true)
        }
        // A request for https is never sent over http.
        let isSecure = places.first?.parts.origin.isSecure == true
        return places.dropFirst().filter { !isSecure || $0.parts.origin.isSecure }
    }

    private func parts(below base: BaseURL) throws -> URLParts {
        var parts: URLParts
        switch base.parts {
        case .success(let found): parts = found
        case .failure(let boxed): throw NetworkError(boxed.reason)
        }
        try parts.append(settings.request.path)
        return parts
    }

    private func base(usesCDN: Bool) throws -> BaseURL? {
        if let overriding = settings.overridingBaseURL { return overriding }
        guard usesCDN else { return settings.baseURL }
        guard let cdn = settings.cdnURLs.first else {
            throw NetworkError(
                .invalidURL("usesCDN is true, but neither the service nor the config has a cdnURL; give one")
            )
        }
        return cdn
    }
}
