import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Change, HoldingsRange } from '../../../src/ui/page/model.ts'
import type { PageRig } from './page-rig.ts'

const PAGE = join(import.meta.dirname, '../../../dist/page')
/** Requests for more are rejected. */
const FILLS_LIMIT_MAX = 500
const TYPES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
}
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"

/** Serves the built page with generated data, as the daemon would. */
export class PageServer {
  rig: PageRig
  /** Requested paths. */
  readonly requests: string[] = []
  #server: Server | undefined
  #port = 0
  readonly #streams = new Set<ServerResponse>()

  constructor(rig: PageRig) {
    this.rig = rig
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Listens on its earlier port, if any. */
  async start(): Promise<void> {
    if (!existsSync(join(PAGE, 'page.js'))) throw new Error('npm run build makes the page first')
    const server = createServer((request, response) => this.#answer(request, response))
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    const closed = new Promise((resolve) => server.close(resolve))
    this.#streams.clear()
    server.closeAllConnections()
    await closed
  }

  send(change: Change): void {
    for (const stream of this.#streams) stream.write(eventOf(change))
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', this.url)
    this.requests.push(url.pathname)
    const page = TYPES[url.pathname]
    if (page !== undefined) {
      const [file, type] = page
      response.writeHead(200, { 'content-type': type, 'content-security-policy': POLICY })
      response.end(readFileSync(join(PAGE, file)))
    } else if (url.pathname === '/events') this.#open(response)
    else this.#answerJson(url, response)
  }

  #open(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(':\n\n')
    response.write(eventOf(this.rig.change({})))
    this.#streams.add(response)
    response.on('close', () => this.#streams.delete(response))
  }

  #answerJson({ pathname, searchParams }: URL, response: ServerResponse): void {
    const isTooMuch = Number(searchParams.get('limit')) > FILLS_LIMIT_MAX
    const answer = isTooMuch ? undefined : this.#answerTo(pathname, searchParams)
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? { error: 'The journal has no record of this slot.' }))
  }

  #answerTo(pathname: string, query: URLSearchParams): unknown {
    switch (pathname) {
      case '/api/overview':
        return this.rig.overview()
      case '/api/strategies':
        return this.rig.strategies()
      case '/api/fills':
        return this.rig.fills({
          limit: Number(query.get('limit')),
          before: query.get('before'),
          strategy: query.get('strategy'),
        })
      case '/api/unfilled':
        return this.rig.unfilled()
      case '/api/holdings':
        return this.rig.holdings(query.get('range') as HoldingsRange)
      case '/api/strategy':
        return this.rig.strategy(query.get('name') ?? '', query.get('range') as HoldingsRange)
      case '/api/why':
        return this.rig.why(query.get('slot') ?? '')
      default:
        return undefined
    }
  }
}

function eventOf(change: Change): string {
  return `id: ${change.overview.revision}\nevent: change\ndata: ${JSON.stringify(change)}\n\n`
}
