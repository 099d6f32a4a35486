import type { Site } from '../control/http-server.ts'
import { json, jsonText, type Reply } from '../control/replies.ts'
import type { Assets } from './assets.ts'
import { isHoldingsRange } from './holdings-series.ts'
import type { PageRoute } from './model.ts'
import { type FillsQuery, type Page, TooManySearchesError } from './page.ts'
import { slotIn } from './why.ts'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 500
const CURSOR = /^\d{1,15}$/
const STRATEGY = /^[a-z0-9][a-z0-9-]{0,62}$/

/** The page's paths; see `PageRoute` of its model. */
export function createSite(page: Page, assets: Assets): Site {
  return {
    events: page,
    async answer(path, query) {
      try {
        return isData(path) ? await DATA[path](page, query) : assets.at(path)
      } catch (error) {
        if (error instanceof TooManySearchesError)
          return {
            ...json(503, { error: 'too many ask at once' }),
            headers: { 'retry-after': '1' },
          }
        throw error
      }
    },
  }
}

type DataRoute = Exclude<PageRoute, '/events'>

const DATA: Readonly<
  Record<DataRoute, (page: Page, query: URLSearchParams) => Promise<Reply> | Reply>
> = {
  '/api/overview': async (page) => jsonText(200, await page.overview()),
  '/api/strategies': async (page) => jsonText(200, await page.strategies()),
  async '/api/fills'(page, query) {
    const asked = fillsQueryIn(query)
    if (typeof asked === 'string') return json(400, { error: asked })
    return jsonText(200, await page.fills(asked))
  },
  async '/api/holdings'(page, query) {
    const range = query.get('range') ?? 'day'
    if (!isHoldingsRange(range)) return json(400, { error: 'range is day, week, month or year' })
    return jsonText(200, await page.holdings(range))
  },
  async '/api/why'(page, query) {
    const slot = slotIn(query.get('slot') ?? '')
    if (slot === undefined) return json(400, { error: 'slot is STRATEGY:SECONDS' })
    const why = await page.why(slot)
    if (why === undefined) return json(404, { error: 'the journal has nothing about this slot' })
    return jsonText(200, why)
  },
}

function isData(path: string): path is DataRoute {
  return Object.hasOwn(DATA, path)
}

/** What is asked for, or what is wrong with it. */
function fillsQueryIn(query: URLSearchParams): FillsQuery | string {
  const limit = Number(query.get('limit') ?? LIMIT_DEFAULT)
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    return `limit is a whole number up to ${LIMIT_MAX}`
  const before = query.get('before')
  if (before !== null && !CURSOR.test(before)) return 'before is what `next` of an answer said'
  const strategy = query.get('strategy')
  if (strategy !== null && !STRATEGY.test(strategy)) return 'strategy is the name of one'
  return {
    limit,
    before: before === null ? undefined : Number(before),
    strategy: strategy ?? undefined,
  }
}
