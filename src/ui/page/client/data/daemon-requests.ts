import type {
  FillsPage,
  HoldingsRange,
  HoldingsSeries,
  Overview,
  PageRoute,
  StrategyRow,
  UnfilledPage,
  Why,
} from '../../model.ts'
import type { Stream } from './link.ts'

const ANSWER_MS_MAX = 10_000

async function request<Answer>(route: PageRoute, query: Readonly<Record<string, string>> = {}) {
  const search = new URLSearchParams(query).toString()
  const response = await fetch(search === '' ? route : `${route}?${search}`, {
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
    cache: 'no-store',
  }).catch(() => {
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
  why: (strategy: string, slotSeconds: number) =>
    request<Why>('/api/why', { slot: `${strategy}:${slotSeconds}` }),
  events(): Stream {
    const source = new EventSource('/events' satisfies PageRoute)
    return {
      on({ opened, failed, change }) {
        source.addEventListener('open', opened)
        source.addEventListener('error', failed)
        source.addEventListener('change', ({ data }) => change(data))
      },
      close: () => source.close(),
    }
  },
}

export type Daemon = Pick<typeof daemon, 'overview' | 'strategies' | 'fills' | 'holdings'>

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'The daemon did not answer.'
}
