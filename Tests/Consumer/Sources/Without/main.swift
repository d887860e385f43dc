import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct User: Decodable, Sendable {
    let id: Int
    let name: String
}

do {
    guard let url = URL(string: "http://127.0.0.1:1/users/7") else { throw URLError(.badURL) }
    let request = URLRequest(url: url)
    let (data, _) = try await URLSession.shared.data(for: request)
    print(try JSONDecoder().decode(User.self, from: data).name)
} catch {
    print(error)
}
