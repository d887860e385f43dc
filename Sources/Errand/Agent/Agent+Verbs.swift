extension Agent {
    /// Calls of one method without a request type: `agent.get("/users/7", as: User.self)`.
    public struct Verb: Sendable {
        fileprivate let agent: Agent
        fileprivate let method: HTTPMethod

        /// Sends a request, and formats the response in the background.
        ///
        /// - Parameters:
        ///   - path: The path, relative to the base URL or absolute.
        ///   - parameters: The parameters: with GET, HEAD and DELETE in the query, otherwise as content, by default JSON.
        ///   - headers: The header fields.
        ///   - type: The type of the model, if the context doesn't name it.
        ///   - keyPath: The path from the payload to the model.
        /// - Returns: The model.
        /// - Throws: The errors of `send(_:)`.
        public func callAsFunction<T: Decodable & Sendable>(
            _ path: String,
            parameters: Parameters = [:],
            headers: HTTPHeaders = [:],
            as type: T.Type = T.self,
            at keyPath: JSONPath = .payload
        ) async throws -> T {
            try await agent.send(request(path, parameters, headers, DecodableFormatter<T>(at: keyPath)))
        }

        /// Sends a request, and formats the response on its caller.
        public func callAsFunction<T: Decodable>(
            _ path: String,
            parameters: Parameters = [:],
            headers: HTTPHeaders = [:],
            as type: T.Type = T.self,
            at keyPath: JSONPath = .payload
        ) async throws -> T {
            try await agent.send(request(path, parameters, headers, DecodableFormatter<T>(at: keyPath)))
        }

        /// Sends a request, and throws if the response is not accepted.
        public func callAsFunction(
            _ path: String,
            parameters: Parameters = [:],
            headers: HTTPHeaders = [:]
        ) async throws {
            _ = try await response(path, parameters, headers)
        }

        /// Sends a request without a model.
        ///
        /// Not specialized: the compiler would copy the pipeline for the type of these requests, which takes 160 KB. They
        /// run the library's generic code, as requests of other modules do.
        @inline(never)
        @_semantics("optimize.sil.specialize.generic.never")
        private func sendUnspecialized<F: ResponseFormatter & Sendable>(
            _ request: GeneralRequest<F>
        ) async throws -> Response<F.Output> where F.Output: Sendable { try await agent.response(for: request) }

        fileprivate func response(
            _ path: String,
            _ parameters: Parameters,
            _ headers: HTTPHeaders
        ) async throws -> Response<Void> {
            try await sendUnspecialized(request(path, parameters, headers, VoidFormatter()))
        }

        private func request<F: ResponseFormatter>(
            _ path: String,
            _ parameters: Parameters,
            _ headers: HTTPHeaders,
            _ formatter: F
        ) -> GeneralRequest<F> {
            GeneralRequest(path, formatter: formatter).method(method).parameters(parameters).headers(headers)
        }
    }

    /// Sends a GET request with its parameters in the query.
    public var get: Verb { Verb(agent: self, method: .get) }
    /// Sends a POST request with its parameters as content, by default JSON.
    public var post: Verb { Verb(agent: self, method: .post) }
    /// Sends a PUT request with its parameters as content, by default JSON.
    public var put: Verb { Verb(agent: self, method: .put) }
    /// Sends a PATCH request with its parameters as content, by default JSON.
    public var patch: Verb { Verb(agent: self, method: .patch) }
    /// Sends a DELETE request with its parameters in the query.
    public var delete: Verb { Verb(agent: self, method: .delete) }

    /// Sends a HEAD request, and returns the response with its header fields.
    public func head(
        _ path: String,
        parameters: Parameters = [:],
        headers: HTTPHeaders = [:]
    ) async throws -> Response<Void> {
        try await Verb(agent: self, method: .head).response(path, parameters, headers)
    }
}
