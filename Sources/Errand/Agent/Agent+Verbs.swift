internal import Foundation

// Calls without a request type. Each verb exists for models that are Sendable, for models that stay on their caller,
// and without a model. The last parameters of each: `as` names the model if the context does not, `at` is the path from
// the payload to it.

extension Agent {
    private func request<T>(
        _ method: HTTPMethod,
        _ path: String,
        _ parameters: Parameters,
        _ headers: HTTPHeaders,
        _ keyPath: JSONPath
    ) -> GeneralRequest<DecodableFormatter<T>> {
        GeneralRequest(path, formatter: DecodableFormatter(at: keyPath))
            .method(method).parameters(parameters).headers(headers)
    }

    private func request(
        _ method: HTTPMethod,
        _ path: String,
        _ parameters: Parameters,
        _ headers: HTTPHeaders
    ) -> GeneralRequest<VoidFormatter> {
        GeneralRequest(path, formatter: VoidFormatter()).method(method).parameters(parameters).headers(headers)
    }

    /// Sends a request without a model.
    ///
    /// Not specialized: the compiler would copy the pipeline for the type of these requests, which takes 160 KB. They
    /// run the library's generic code, as requests of other modules do.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    private func sendUnspecialized<F: ResponseFormatter & Sendable>(
        _ request: GeneralRequest<F>
    ) async throws -> Response<F.Output> where F.Output: Sendable { try await response(for: request) }

    /// Sends a HEAD request, and returns the response with its header fields.
    public func head(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:]
    ) async throws -> Response<Void> {
        try await sendUnspecialized(request(.head, path, parameters, headers))
    }
}

extension Agent {
    /// Sends a GET request with its parameters in the query, and formats the response in the background.
    public func get<T: Decodable & Sendable>(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:],
        as type: T.Type = T.self,
        at keyPath: JSONPath = .payload
    ) async throws -> T {
        let request: GeneralRequest<DecodableFormatter<T>> = request(.get, path, parameters, headers, keyPath)
        return try await send(request)
    }

    /// Sends a GET request with its parameters in the query, and formats the response on its caller.
    public func get<T: Decodable>(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:],
        as type: T.Type = T.self,
        at keyPath: JSONPath = .payload
    ) async throws -> T {
        let request: GeneralRequest<DecodableFormatter<T>> = request(.get, path, parameters, headers, keyPath)
        return try await send(request)
    }

    /// Sends a GET request with its parameters in the query, and throws if the response is not accepted.
    public func get(_ path: String, parameters: Parameters = [:], headers: HTTPHeaders = [:]) async throws {
        _ = try await sendUnspecialized(request(.get, path, parameters, headers))
    }
}

extension Agent {
    /// Sends a POST request with its parameters as content, by default JSON, and formats the response in the background.
    public func post<T: Decodable & Sendable>(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:],
        as type: T.Type = T.self,
        at keyPath: JSONPath = .payload
    ) async throws -> T {
        let request: GeneralRequest<DecodableFormatter<T>> = request(.post, path, parameters, headers, keyPath)
        return try await send(request)
    }

    /// Sends a POST request with its parameters as content, by default JSON, and formats the response on its caller.
    public func post<T: Decodable>(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:],
        as type: T.Type = T.self,
        at keyPath: JSONPath = .payload
    ) async throws -> T {
        let request: GeneralRequest<DecodableFormatter<T>> = request(.post, path, parameters, headers, keyPath)
        return try await send(request)
    }

    /// Sends a POST request with its parameters as content, by default JSON, and throws if the response is not accepted.
    public func post(_ path: String, parameters: Parameters = [:], headers: HTTPHeaders = [:]) async throws {
        _ = try await sendUnspecialized(request(.post, path, parameters, headers))
    }
}

extension Agent {
    /// Sends a PUT request with its parameters as content, by default JSON, and formats the response in the background.
    public func put<T: Decodable & Sendable>(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:],
        as type: T.Type = T.self,
        at keyPath: JSONPath = .payload
    ) async throws -> T {
        let request: GeneralRequest<DecodableFormatter<T>> = request(.put, path, parameters, headers, keyPath)
        return try await send(request)
    }

    /// Sends a PUT request with its parameters as content, by default JSON, and formats the response on its caller.
    public func put<T: Decodable>(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:],
        as type: T.Type = T.self,
        at keyPath: JSONPath = .payload
    ) async throws -> T {
        let request: GeneralRequest<DecodableFormatter<T>> = request(.put, path, parameters, headers, keyPath)
        return try await send(request)
    }

    /// Sends a PUT request with its parameters as content, by default JSON, and throws if the response is not accepted.
    public func put(_ path: String, parameters: Parameters = [:], headers: HTTPHeaders = [:]) async throws {
        _ = try await sendUnspecialized(request(.put, path, parameters, headers))
    }
}

extension Agent {
    /// Sends a PATCH request with its parameters as content, by default JSON, and formats the response in the background.
    public func patch<T: Decodable & Sendable>(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:],
        as type: T.Type = T.self,
        at keyPath: JSONPath = .payload
    ) async throws -> T {
        let request: GeneralRequest<DecodableFormatter<T>> = request(.patch, path, parameters, headers, keyPath)
        return try await send(request)
    }

    /// Sends a PATCH request with its parameters as content, by default JSON, and formats the response on its caller.
    public func patch<T: Decodable>(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:],
        as type: T.Type = T.self,
        at keyPath: JSONPath = .payload
    ) async throws -> T {
        let request: GeneralRequest<DecodableFormatter<T>> = request(.patch, path, parameters, headers, keyPath)
        return try await send(request)
    }

    /// Sends a PATCH request with its parameters as content, by default JSON, and throws if the response is not accepted.
    public func patch(_ path: String, parameters: Parameters = [:], headers: HTTPHeaders = [:]) async throws {
        _ = try await sendUnspecialized(request(.patch, path, parameters, headers))
    }
}

extension Agent {
    /// Sends a DELETE request with its parameters in the query, and formats the response in the background.
    public func delete<T: Decodable & Sendable>(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:],
        as type: T.Type = T.self,
        at keyPath: JSONPath = .payload
    ) async throws -> T {
        let request: GeneralRequest<DecodableFormatter<T>> = request(.delete, path, parameters, headers, keyPath)
        return try await send(request)
    }

    /// Sends a DELETE request with its parameters in the query, and formats the response on its caller.
    public func delete<T: Decodable>(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:],
        as type: T.Type = T.self,
        at keyPath: JSONPath = .payload
    ) async throws -> T {
        let request: GeneralRequest<DecodableFormatter<T>> = request(.delete, path, parameters, headers, keyPath)
        return try await send(request)
    }

    /// Sends a DELETE request with its parameters in the query, and throws if the response is not accepted.
    public func delete(_ path: String, parameters: Parameters = [:], headers: HTTPHeaders = [:]) async throws {
        _ = try await sendUnspecialized(request(.delete, path, parameters, headers))
    }
}
