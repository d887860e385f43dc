/// The page of a waterfall, with `%TITLE%` and `%DATA%` in place of what differs.
enum WaterfallPage {
    static let text = #"""
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
        <title>%TITLE%</title>
        <style>
        :root { color-scheme: light dark; --back: #fff; --raised: #f5f6f8; --line: #e2e5ea; --text: #1d2430; --dim: #667085;
          --focus: #e6efff; --queue: #b8c0cc; --lookup: #2aa5a0; --connect: #e08a2c; --tls: #9a6dd7; --wait: #3f7fe8; --receive: #35a35b;
          --bad: #d33a3a; --good: #1f8a4c; --pause: #d9dde4 }
        @media (prefers-color-scheme: dark) { :root { --back: #14171c; --raised: #1c2027; --line: #2c323c; --text: #e4e8ef; --dim: #97a1b3;
          --focus: #22304a; --queue: #5b6575; --lookup: #35b3ad; --connect: #e39a48; --tls: #ab85e0; --wait: #5b93f0; --receive: #48b76e;
          --bad: #f06a6a; --good: #56c483; --pause: #39414d } }
        * { box-sizing: border-box }
        body { margin: 0; height: 100vh; display: flex; flex-direction: column; background: var(--back); color: var(--text);
          font: 13px/1.45 system-ui, sans-serif }
        header { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; padding: 10px 16px; border-bottom: 1px solid var(--line) }
        h1 { font-size: 15px; margin: 0 auto 0 0; font-weight: 600 }
        label { display: flex; align-items: center; gap: 6px; color: var(--dim) }
        input[type=range] { width: 110px; padding: 0 }
        input, select { font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--line); border-radius: 6px;
          padding: 4px 8px }
        #legend { display: flex; flex-wrap: wrap; gap: 4px 14px; padding: 6px 16px; color: var(--dim); font-size: 12px }
        #legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px }
        main { flex: 1; display: flex; min-height: 0 }
        #list { flex: 1; overflow: auto; min-width: 0 }
        #axis, .row { display: grid; grid-template-columns: minmax(220px, 34%) 1fr 92px }
        #axis { position: sticky; top: 0; z-index: 2; height: 24px; background: var(--back); border-bottom: 1px solid var(--line);
          color: var(--dim); font-size: 11px }
        #ticks { position: relative; overflow: hidden }
        #ticks span { position: absolute; top: 4px; padding-left: 4px; white-space: nowrap; border-left: 1px solid var(--line) }
        .row { height: 26px; align-items: center; border-bottom: 1px solid var(--line); content-visibility: auto;
          contain-intrinsic-size: auto 26px; cursor: default }
        .row:hover { background: var(--raised) }
        .row:focus { outline: 2px solid var(--wait); outline-offset: -2px; background: var(--focus) }
        .row.group, .row.group .status { color: var(--dim); font-weight: 600 }
        .name { display: flex; gap: 8px; padding: 0 8px 0 16px; overflow: hidden; white-space: nowrap; align-items: baseline }
        .status { flex: none; width: 34px; text-align: right; font-variant-numeric: tabular-nums; color: var(--good) }
        .bad .status, .bad .total { color: var(--bad) }
        .open .status { color: var(--dim) }
        .place { color: var(--dim); overflow: hidden; text-overflow: ellipsis }
        .type { flex: none }
        .bars { height: 26px; border-left: 1px solid var(--line); overflow: hidden }
        .track { position: relative; width: calc(100% * var(--zoom, 1)); margin-left: calc(-100% * var(--zoom, 1) * var(--shift, 0)) }
        .bars b { position: absolute; top: 8px; height: 10px; min-width: 2px; border-radius: 1px }
        .bars .span { top: 12px; height: 2px; background: var(--pause) }
        .bars .note { background: repeating-linear-gradient(45deg, var(--queue) 0 2px, transparent 2px 5px) }
        .bars .stored { background: none; border: 1.5px solid var(--good); border-radius: 50%; width: 10px }
        .bars .failed { outline: 1.5px solid var(--bad); outline-offset: 1px }
        .total { text-align: right; padding-right: 16px; color: var(--dim); font-variant-numeric: tabular-nums }
        #detail { width: 44%; max-width: 720px; overflow: auto; border-left: 1px solid var(--line); background: var(--raised);
          padding: 12px 16px 40px }
        #detail[hidden] { display: none }
        #detail h2 { font-size: 14px; margin: 0 28px 4px 0; overflow-wrap: anywhere }
        #detail h3 { font-size: 12px; margin: 18px 0 4px; padding-top: 10px; border-top: 1px solid var(--line) }
        #detail p { margin: 2px 0; color: var(--dim); overflow-wrap: anywhere }
        #detail .error { color: var(--bad) }
        #detail pre { margin: 4px 0; padding: 8px; background: var(--back); border: 1px solid var(--line); border-radius: 6px;
          white-space: pre-wrap; overflow-wrap: anywhere; font: 12px/1.5 ui-monospace, monospace; max-height: 40vh; overflow: auto }
        #close { float: right; font: inherit; color: var(--dim); background: none; border: 0; font-size: 18px; line-height: 1; cursor: pointer }
        #none { padding: 40px; text-align: center; color: var(--dim) }
        @media (max-width: 700px) { #axis, .row { grid-template-columns: 46% 1fr 0 } .total { display: none }
          #detail { position: fixed; inset: 20% 0 0 0; width: auto; max-width: none; z-index: 3 } }
        </style>
        <header><h1>%TITLE%</h1>
        <label>zoom <input id="zoom" type="range" min="0" max="100" value="0"></label>
        <select id="host" aria-label="Host"><option value="">all hosts</option></select>
        <select id="status" aria-label="Status"><option value="">any outcome</option><option value="2">2xx</option>
        <option value="3">3xx</option><option value="4">4xx</option><option value="5">5xx</option><option value="failure">failed</option>
        <option value="cache">from the cache</option><option value="cancelled">cancelled</option><option value="running">running</option></select>
        <input id="text" type="search" placeholder="Filter (/)" aria-label="Text">
        </header>
        <div id="legend"></div>
        <main><div id="list"><div id="axis"><span></span><div id="ticks"></div><span></span></div>
        <div id="rows" role="tree" aria-label="Sends"></div></div><aside id="detail" aria-live="polite" hidden></aside></main>
        <script type="application/json" id="data">%DATA%</script>
        <script>
        "use strict";
        const sends = JSON.parse(document.getElementById("data").textContent);
        const $ = id => document.getElementById(id);
        const phases = [["queue", "waiting for a connection"], ["lookup", "name lookup"], ["connect", "connecting"], ["tls", "TLS"],
          ["wait", "waiting for the response"], ["receive", "receiving"]];
        // Of large groups, only the first row is shown at first.
        const sizes = new Map(), closed = new Set();
        for (const [, id] of sends.flatMap(send => send.groups)) {
          sizes.set(id, (sizes.get(id) || 0) + 1);
          if (sizes.get(id) > 100) closed.add(id);
        }
        function make(tag, name, text) {
          const element = document.createElement(tag);
          if (name) element.className = name;
          if (text !== undefined) element.textContent = text;
          return element;
        }
        function words(ms) {
          return ms < 0.995 ? Math.round(ms * 1000) + " µs" : ms < 9.95 ? ms.toFixed(1) + " ms" : ms < 999.5 ? Math.round(ms) + " ms"
            : ms < 59950 ? (ms / 1000).toFixed(ms < 9950 ? 2 : 1) + " s" : Math.floor(ms / 60000) + " min " + Math.round(ms % 60000 / 1000) + " s";
        }
        function host(send) { const found = /^\w+:\/\/([^/?]*)/.exec(send.url); return found ? found[1] : ""; }
        function last(send) { return send.exchanges.length ? send.exchanges[send.exchanges.length - 1] : {}; }
        function status(send) { return send.status || last(send).status; }
        function bad(send) { return send.outcome === "failure"; }
        function stored(send) { return send.source === "cache" || send.source === "stale"; }
        function end(send) { return Math.max(send.start + send.duration, ...send.exchanges.map(one => one.start + one.duration)); }
        function searched(send) {
          return send.search ||= [send.id, send.type, send.method, send.url, send.tag, send.service, send.kind, send.error, send.source,
            ...send.groups.map(group => group[0] + " " + group[1]), ...send.notes.map(note => note.text),
            ...send.exchanges.flatMap(one => [one.purpose, one.url, one.status, one.failure])].join(" ").toLowerCase();
        }
        function shown(send) {
          const wanted = $("status").value, code = String(status(send) || "");
          return (!$("host").value || host(send) === $("host").value)
            && (!wanted || (/\d/.test(wanted) ? code.startsWith(wanted) : wanted === "cache" ? stored(send) : send.outcome === wanted))
            && $("text").value.toLowerCase().split(/\s+/).every(word => searched(send).includes(word));
        }
        // The sends as a tree of their batches, chains and sequences.
        function tree(list) {
          const root = { children: [] }, groups = new Map();
          for (const send of list) {
            let parent = root;
            for (const [name, id] of send.groups) {
              if (!groups.has(id)) {
                const group = { name, id, children: [], sends: [] };
                groups.set(id, group);
                parent.children.push(group);
              }
              parent = groups.get(id);
              parent.sends.push(send);
            }
            parent.children.push(send);
          }
          return root;
        }
        let from = 0, to = 1, rows = [];
        const hosts = [...new Set(sends.map(host))].filter(Boolean).sort();
        function bar(parent, start, length, kind, title) {
          const one = make("b", kind.startsWith("--") ? "" : kind);
          if (kind.startsWith("--")) one.style.background = "var(" + kind + ")";
          one.style.left = (start - from) / (to - from) * 100 + "%";
          one.style.width = Math.max(0, length) / (to - from) * 100 + "%";
          one.title = title;
          parent.append(one);
          return one;
        }
        function drawExchange(parent, one) {
          const parts = phases.map(([name, label]) => [name, label, one[name] || 0]);
          const rest = one.duration - parts.reduce((sum, part) => sum + part[2], 0);
          parts[4][2] = Math.max(0, rest);
          let at = one.start;
          const title = one.purpose + " " + one.attempt + ": " + (one.status || one.failure || "no response") + " in " + words(one.duration) + "\n"
            + parts.filter(part => part[2]).map(part => part[1] + " " + words(part[2])).join("\n");
          for (const [name, , time] of parts) {
            if (!time) continue;
            const drawn = bar(parent, at, time, "--" + name, title);
            if (!one.status || one.failure) drawn.classList.add("failed");
            at += time;
          }
        }
        function draw(send, level) {
          const row = make("div", bad(send) ? "row bad" : send.outcome === "success" ? "row" : "row open"), name = make("div", "name"), bars = make("div", "bars"), track = bars.appendChild(make("div", "track"));
          name.style.paddingLeft = 16 + level * 16 + "px";
          name.append(make("span", "status", bad(send) && !(status(send) >= 400) ? "✕" : status(send) || (bad(send) ? "✕" : send.outcome === "running" ? "…" : "–")),
            make("span", "type", send.type), make("span", "place", send.method + " " + send.url.replace(hosts.length > 1 ? /^\w+:\/\// : /^\w+:\/\/[^/?]*/, "")));
          bar(track, send.start, end(send) - send.start, "span", send.type + " in " + words(send.duration));
          for (const note of send.notes) {
            if (!note.duration) continue;
            const start = note.event === "didWait" ? send.start + note.at - note.duration : send.start + note.at;
            bar(track, start, note.duration, "note", note.text);
          }
          for (const one of send.exchanges) drawExchange(track, one);
          if (stored(send)) bar(track, send.start, 0, "stored", "from the cache").style.width = "";
          row.append(name, bars, make("div", "total", words(send.duration)));
          row.dataset.send = send.id;
          row.start = send.start;
          return row;
        }
        function drawGroup(group, level) {
          const row = make("div", "row group"), name = make("div", "name"), bars = make("div", "bars"), track = bars.appendChild(make("div", "track"));
          const start = group.sends.reduce((least, send) => Math.min(least, send.start), Infinity);
          const time = group.sends.reduce((most, send) => Math.max(most, end(send)), 0) - start;
          name.style.paddingLeft = 16 + level * 16 + "px";
          name.append(make("span", "status", closed.has(group.id) ? "▸" : "▾"), make("span", "type", group.name),
            make("span", "place", group.sends.length + (group.sends.length === 1 ? " send" : " sends")));
          bar(track, start, time, "span", group.name + " in " + words(time));
          row.append(name, bars, make("div", "total", words(time)));
          row.dataset.group = group.id;
          row.start = start;
          row.setAttribute("aria-expanded", !closed.has(group.id));
          return row;
        }
        function render(focus) {
          const list = sends.filter(shown);
          from = list.reduce((least, send) => Math.min(least, send.start), Infinity);
          to = list.reduce((most, send) => Math.max(most, end(send)), from + 0.001);
          rows = [];
          const add = (node, level) => {
            const row = node.children ? drawGroup(node, level) : draw(node, level);
            row.setAttribute("role", "treeitem");
            row.setAttribute("aria-level", level + 1);
            row.tabIndex = -1;
            rows.push(row);
            if (node.children && !closed.has(node.id)) node.children.forEach(child => add(child, level + 1));
          };
          tree(list).children.forEach(node => add(node, 0));
          $("rows").replaceChildren(...rows);
          if (!list.length) $("rows").append(make("div", "", sends.length ? "Nothing matches the filter." : "Nothing was recorded."));
          if (!list.length) $("rows").firstChild.id = "none";
          scroll();
          const row = focus && rows.find(row => row.dataset.group === focus) || rows[0];
          if (row) row.tabIndex = 0;
          if (row && focus) row.focus();
        }
        // Zoomed in, the axis begins with the first row that is seen.
        function scroll() {
          const all = to - from, zoom = Math.max(1, all / 5) ** ($("zoom").value / 100);
          const first = rows[Math.min(rows.length - 1, Math.floor($("list").scrollTop / 26))];
          const shift = first ? Math.max(0, Math.min((first.start - from) / all - 0.02 / zoom, 1 - 1 / zoom)) : 0;
          $("rows").style.setProperty("--zoom", zoom);
          $("rows").style.setProperty("--shift", shift);
          $("ticks").replaceChildren();
          if (!first) return;
          const begin = all * shift, length = all / zoom;
          let step = 10 ** Math.floor(Math.log10(length / 4));
          step *= length / step > 20 ? 5 : length / step > 8 ? 2 : 1;
          for (let at = Math.ceil(begin / step) * step; at < begin + length * 0.96; at += step) {
            const tick = make("span", "", at ? words(at) : "0");
            tick.style.left = (at - begin) / length * 100 + "%";
            $("ticks").append(tick);
          }
        }
        function message(parent, title, headers, body) {
          parent.append(make("p", "", title));
          const text = headers.map(field => field[0] + ": " + field[1]).join("\n");
          if (text) parent.append(make("pre", "", text));
          if (body === undefined) return;
          try { body = JSON.stringify(JSON.parse(body), null, 2); } catch { /* Not JSON. */ }
          parent.append(make("pre", "", body));
        }
        function show(send) {
          const detail = $("detail"), close = make("button", "", "×");
          close.id = "close";
          close.setAttribute("aria-label", "Close");
          close.onclick = hide;
          detail.replaceChildren(close, make("h2", "", "#" + send.id + " " + send.type),
            make("p", "", send.method + " " + send.url),
            make("p", "", (status(send) || send.outcome) + (send.source && send.source !== "network" ? ", " + send.source : "") + " in "
              + words(send.duration) + (send.tag ? ", tag " + send.tag : "")));
          if (send.error) detail.append(make("p", "error", send.error));
          for (const note of send.notes) detail.append(make("p", "", words(note.at) + ": " + note.text));
          for (const one of send.exchanges) {
            detail.append(make("h3", "", one.purpose + " " + one.attempt + ": " + (one.status || "no response") + " in " + words(one.duration)));
            const known = [one.protocol, one.address, one.reused === undefined ? "" : one.reused ? "connection reused" : "new connection"];
            if (known.some(Boolean)) detail.append(make("p", "", known.filter(Boolean).join(", ")));
            if (one.failure) detail.append(make("p", "error", one.failure));
            message(detail, "> " + one.method + " " + one.url, one.requestHeaders, one.requestBody);
            if (one.status) message(detail, "< " + one.status, one.responseHeaders, one.responseBody);
          }
          detail.hidden = false;
          detail.scrollTop = 0;
        }
        function hide() {
          $("detail").hidden = true;
          const row = rows.find(row => row.tabIndex === 0);
          if (row) row.focus();
        }
        function focusRow(row) {
          if (!row) return;
          rows.forEach(other => other.tabIndex = -1);
          row.tabIndex = 0;
          row.focus();
          const send = sends.find(send => String(send.id) === row.dataset.send);
          if (send && !$("detail").hidden) show(send);
        }
        function activate(row) {
          const group = row.dataset.group;
          if (group) {
            closed.delete(Number(group)) || closed.add(Number(group));
            return render(group);
          }
          show(sends.find(send => String(send.id) === row.dataset.send));
        }
        $("rows").onclick = event => {
          const row = event.target.closest(".row");
          if (row) { focusRow(row); activate(row); }
        };
        document.onkeydown = event => {
          if (event.target.matches("input:not([type=range]), select")) {
            if (event.key === "Escape") { event.target.blur(); focusRow(rows.find(row => row.tabIndex === 0)); }
            return;
          }
          const at = rows.findIndex(row => row.tabIndex === 0), row = rows[at], group = row && row.dataset.group;
          const isClosed = closed.has(Number(group));
          if (event.key === "ArrowDown") focusRow(rows[at + 1]);
          else if (event.key === "ArrowUp") focusRow(rows[at - 1]);
          else if (event.key === "Home") focusRow(rows[0]);
          else if (event.key === "End") focusRow(rows[rows.length - 1]);
          else if (event.key === "Enter" || event.key === " ") row && activate(row);
          else if (event.key === "ArrowLeft" && group && !isClosed) activate(row);
          else if (event.key === "ArrowRight" && group && isClosed) activate(row);
          else if (event.key === "Escape") hide();
          else if (event.key === "/") $("text").focus();
          else return;
          event.preventDefault();
        };
        for (const name of hosts) $("host").append(new Option(name, name));
        for (const [name, label] of [...phases, ["note", "throttled, or before another attempt"], ["stored", "from the cache"], ["span", "the send, or its group"]]) {
          const one = make("span"), mark = make("i");
          mark.style.background = name === "note" ? "repeating-linear-gradient(45deg, var(--queue) 0 2px, transparent 2px 5px)"
            : name === "stored" ? "none" : "var(--" + name + ")";
          if (name === "span") { mark.style.background = "var(--pause)"; mark.style.height = "3px"; mark.style.verticalAlign = "middle"; }
          if (name === "stored") { mark.style.border = "1.5px solid var(--good)"; mark.style.borderRadius = "50%"; }
          one.append(mark, label);
          $("legend").append(one);
        }
        // Some forty sends fill the width.
        function fit() {
          const count = sends.filter(shown).length;
          $("zoom").value = count > 40 ? 100 * Math.log(count / 40) / Math.log(Math.max(1.01, (to - from) / 5)) : 0;
          scroll();
        }
        ["host", "status", "text"].forEach(id => $(id).oninput = () => { render(); fit(); });
        $("list").onscroll = $("zoom").oninput = scroll;
        render();
        fit();
        </script>
        """#
}
