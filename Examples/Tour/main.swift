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

await tour.chapter("Declaring", Steps.declaring)
await tour.chapter("Configuring", Steps.configuring)
await tour.chapter("Running", Steps.running)
await tour.chapter("Duplicates and limits", Steps.admission)
await tour.chapter("Composing", Steps.composing)
await tour.chapter("Observing", Steps.observing)
await tour.chapter("Decoding", Steps.decoding)
await tour.chapter("Errors", Steps.failing)
await tour.chapter("Resilience", Steps.resilience)
await tour.chapter("Caching", Steps.caching)
await tour.chapter("Transfers", Steps.transfers)

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
