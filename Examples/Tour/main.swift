import Errand
import ErrandInspector
import ErrandTesting
import Foundation

// Shows most capabilities over real sockets: a MockServer runs in this process, and every step sends requests to it.
// Each step prints its result. The tour exits with a nonzero status if any step fails.

let options = TourOptions(Array(CommandLine.arguments.dropFirst()))
let server = try MockServer()
Shop.serve(on: server)
let tour = Tour(server: server, over: options.makeTransport)

await tour.chapter("Declaring", Steps.declaring, options.cassettes)
await tour.chapter("Configuring", Steps.configuring, options.cassettes)
await tour.chapter("Running", Steps.running, options.cassettes)
await tour.chapter("Duplicates and limits", Steps.admission, options.cassettes)
await tour.chapter("Composing", Steps.composing, options.cassettes)
await tour.chapter("Observing", Steps.observing, options.cassettes)
await tour.chapter("Decoding", Steps.decoding, options.cassettes)
await tour.chapter("Errors", Steps.failing, options.cassettes)
await tour.chapter("Resilience", Steps.resilience, options.cassettes)
await tour.chapter("Caching", Steps.caching, options.cassettes)
await tour.chapter("Transfers", Steps.transfers, options.cassettes)

server.stop()
let status = tour.report()
if let file = options.waterfall {
    do {
        try tour.recorder.writeWaterfall(to: file)
    } catch {
        TourOptions.fail("cannot write \(file.path(percentEncoded: false)): \(error.localizedDescription)")
    }
}
exit(status)
