import type {
  FillsPage,
  HoldingsRange,
  HoldingsSeries,
  Overview,
  PageRoute,
  StrategyRow,
  Why,
} from '../../model.ts'
import type { Stream } from './link.ts'
import type { FillsQuestion } from './store.ts'

/** Questions to the daemon. Each rejects with a sentence that may be shown. */

const ANSWER_MS_MAX = 10_000

async function ask<Answer>(
  route: PageRoute,
  query: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const asked = new URLSearchParams(query).toString()
  const response = await fetch(asked === '' ? route : `${route}?${asked}`, {
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
    cache: 'no-store',
  }).catch(() => {
    throw new Error('The daemon does not answer.')
  })
  const said: unknown = await response.json().catch(() => undefined)
  if (response.ok && said !== undefined) return said as Answer
  throw new Error(errorOf(said) ?? `The daemon answered ${response.status}, and nothing to show.`)
}

function errorOf(said: unknown): string | undefined {
  if (typeof said !== 'object' || said === null || !('error' in said)) return undefined
  return typeof said.error === 'string' ? said.error : undefined
}

export const daemon = {
  overview: () => ask<Overview>('/api/overview'),
  strategies: () => ask<readonly StrategyRow[]>('/api/strategies'),
  fills: ({ limit, before, strategy }: FillsQuestion) =>
    ask<FillsPage>('/api/fills', {
      limit: String(limit),
      ...(before === undefined ? {} : { before }),
      ...(strategy === undefined ? {} : { strategy }),
    }),
  holdings: (range: HoldingsRange) => ask<HoldingsSeries>('/api/holdings', { range }),
  why: (strategy: string, slotSeconds: number) =>
    ask<Why>('/api/why', { slot: `${strategy}:${slotSeconds}` }),
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
