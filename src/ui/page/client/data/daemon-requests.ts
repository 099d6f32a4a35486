import type {
  FillsPage,
  HoldingsRange,
  HoldingsSeries,
  Overview,
  PageRoute,
  StrategyDetail,
  StrategyRow,
  UnfilledPage,
  Why,
} from '../../model.ts'
import { keptText } from './kept.ts'
import type { Stream } from './link.ts'

const ANSWER_MS_MAX = 10_000

async function request<Answer>(route: PageRoute, query: Readonly<Record<string, string>> = {}) {
  const search = new URLSearchParams(query).toString()
  const signal = AbortSignal.timeout(ANSWER_MS_MAX)
  const path = search === '' ? route : `${route}?${search}`
  const response = await access.fetch(path, { signal }).catch(() => {
    throw new Error('The daemon does not answer.')
  })
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.ok && answer !== undefined) return answer as Answer
  throw new Error(errorIn(answer) ?? `The daemon answered ${response.status} without data.`)
}

function errorIn(answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null || !('error' in answer)) return undefined
  return typeof answer.error === 'string' ? answer.error : undefined
}

type FillsQuery = {
  readonly limit: number
  readonly before?: string
  readonly strategy?: string
}

/** Requests to the daemon. Each rejects with a displayable message. */
export const daemon = {
  overview: () => request<Overview>('/api/overview'),
  strategies: () => request<readonly StrategyRow[]>('/api/strategies'),
  fills: ({ limit, ...query }: FillsQuery) =>
    request<FillsPage>('/api/fills', { limit: String(limit), ...query }),
  unfilled: ({ limit, ...query }: FillsQuery & { readonly skipped?: string }) =>
    request<UnfilledPage>('/api/unfilled', { limit: String(limit), ...query }),
  holdings: (range: HoldingsRange) => request<HoldingsSeries>('/api/holdings', { range }),
  strategy: (query: {
    readonly name: string
    readonly range: HoldingsRange
    readonly pair?: string
  }) => request<StrategyDetail>('/api/strategy', query),
  why: (strategy: string, slotSeconds: number) =>
    request<Why>('/api/why', { slot: `${strategy}:${slotSeconds}` }),
  events(): Stream {
    const stop = new AbortController()
    return {
      on({ opened, failed, change }) {
        readEvents(stop.signal, { opened, change }).catch(() => {
          if (!stop.signal.aborted) failed()
        })
      },
      close: () => stop.abort(),
    }
  },
}

/** Reads the stream until it ends, and then rejects. Unlike an EventSource, this sends the token. */
async function readEvents(
  signal: AbortSignal,
  { opened, change }: { opened(): void; change(data: string): void },
): Promise<never> {
  const { ok, body } = await access.fetch('/events' satisfies PageRoute, { signal })
  if (!ok || body === null) throw new Error('The daemon sends no events.')
  opened()
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) throw new Error('The stream of events has ended.')
    const events = (rest + value).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      const data = event.split('\n').find((line) => line.startsWith('data: '))
      if (data !== undefined) change(data.slice('data: '.length))
    }
  }
}

export type Daemon = Pick<typeof daemon, 'overview' | 'strategies' | 'fills' | 'holdings'>

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'The daemon did not answer.'
}

const kept = keptText('sessionStorage', 'tranched-token')

/** The token of this tab, kept until it is closed. */
class Access {
  #token: string | undefined = kept.read()
  /** Whether the daemon refused the last request for lack of a token. */
  isDenied = false
  /** Whether it refused the last token that was entered. */
  isWrong = false

  set(token: string): void {
    this.#token = token
    this.isWrong = false
    kept.write(token)
  }

  headers(): Readonly<Record<string, string>> {
    return this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }
  }

  /** Fetches with the token, and notes whether it was accepted. */
  async fetch(path: string, options: RequestInit = {}): Promise<Response> {
    const headers = { ...options.headers, ...this.headers() }
    const response = await fetch(path, { ...options, headers, cache: 'no-store' })
    this.isDenied = response.status === 401
    // Sent again at each reconnection, a wrong token would count as a guess. A command may need another one than looking.
    if (this.isDenied && this.#token !== undefined && options.method === undefined) {
      this.#token = undefined
      this.isWrong = true
    }
    return response
  }
}

export const access = new Access()
