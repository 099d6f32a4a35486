import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Site } from '../../../control/http/http-server.ts'
import { json, jsonText, type Reply } from '../../../control/http/replies.ts'
import type { PageRoute } from '../model.ts'
import type { FillQuery } from './fill-search.ts'
import { isHoldingsRange } from './holdings.ts'
import { type Page, TooManySearchesError } from './page.ts'
import { slotIn } from './why.ts'

const FILES = [
  { path: '/', file: 'index.html', contentType: 'text/html; charset=utf-8' },
  { path: '/page.js', file: 'page.js', contentType: 'text/javascript; charset=utf-8' },
  { path: '/page.css', file: 'page.css', contentType: 'text/css; charset=utf-8' },
] as const

const MISSING = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>tranched</title>
<p>This installation has no page: its files are missing beside the program. <code>npm run build</code> creates them.
<p>The daemon still runs: see <a href="/metrics">/metrics</a>, <a href="/readyz">/readyz</a> and <code>tranched status</code>.
</html>
`

/** Reads the page's files once, so that a later build does not change them. If one is missing, a plain page says so. */
export async function readAssets(dir: string | undefined) {
  const read = FILES.map(async ({ path, file, contentType }) => {
    const body = dir && (await readFile(join(dir, file)).catch(() => undefined))
    return body ? [[path, { status: 200, contentType, body }] as const] : []
  })
  const found = (await Promise.all(read)).flat()
  const missing = ['/', { status: 200, contentType: FILES[0].contentType, body: MISSING }] as const
  const replies = new Map<string, Reply>(found.length < FILES.length ? [missing] : found)
  return { at: (path: string) => replies.get(path) }
}

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 500
const CURSOR = /^\d{1,15}$/
const STRATEGY = /^[a-z0-9][a-z0-9-]{0,62}$/

export function createSite(page: Page, assets: Awaited<ReturnType<typeof readAssets>>): Site {
  return {
    events: page,
    async answer(path, query) {
      try {
        return isData(path) ? await DATA[path](page, query) : assets.at(path)
      } catch (error) {
        if (!(error instanceof TooManySearchesError)) throw error
        return {
          ...json(503, { error: 'too many requests at once' }),
          headers: { 'retry-after': '1' },
        }
      }
    },
  }
}

type DataRoute = Exclude<PageRoute, '/events' | '/api/control'>

const DATA: Readonly<
  Record<DataRoute, (page: Page, query: URLSearchParams) => Promise<Reply> | Reply>
> = {
  '/api/overview': async (page) => jsonText(200, await page.overview()),
  '/api/strategies': async (page) => jsonText(200, await page.strategies()),
  async '/api/fills'(page, query) {
    const wanted = fillsQueryIn(query)
    if (typeof wanted === 'string') return json(400, { error: wanted })
    return jsonText(200, await page.fills(wanted))
  },
  async '/api/unfilled'(page, query) {
    const wanted = fillsQueryIn(query)
    if (typeof wanted === 'string') return json(400, { error: wanted })
    const skipped = query.get('skipped') === 'yes'
    return jsonText(200, await page.unfilled({ ...wanted, skipped }))
  },
  async '/api/holdings'(page, query) {
    const range = query.get('range') ?? 'day'
    if (!isHoldingsRange(range)) return json(400, { error: 'range is day, week, month or year' })
    return jsonText(200, await page.holdings(range))
  },
  async '/api/strategy'(page, query) {
    const range = query.get('range') ?? 'day'
    if (!isHoldingsRange(range)) return json(400, { error: 'range is day, week, month or year' })
    const name = query.get('name') ?? ''
    if (!STRATEGY.test(name)) return json(400, { error: 'name is the name of a strategy' })
    const detail = await page.strategy({ name, range, pair: query.get('pair') ?? undefined })
    if (detail === undefined) return json(404, { error: 'there is no strategy with that name' })
    return jsonText(200, detail)
  },
  async '/api/why'(page, query) {
    const slot = slotIn(query.get('slot') ?? '')
    if (slot === undefined) return json(400, { error: 'slot is STRATEGY:SECONDS' })
    const why = await page.why(slot)
    if (why === undefined) return json(404, { error: 'the journal has no record of this slot' })
    return jsonText(200, why)
  },
}

function isData(path: string): path is DataRoute {
  return Object.hasOwn(DATA, path)
}

/** Returns a string if the query is invalid. */
function fillsQueryIn(query: URLSearchParams): FillQuery | string {
  const limit = Number(query.get('limit') ?? LIMIT_DEFAULT)
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    return `limit is a whole number up to ${LIMIT_MAX}`
  const before = query.get('before')
  if (before !== null && !CURSOR.test(before)) return 'before is the `next` of an earlier answer'
  const strategy = query.get('strategy')
  if (strategy !== null && !STRATEGY.test(strategy)) return 'strategy is the name of a strategy'
  return {
    limit,
    before: before === null ? undefined : Number(before),
    strategy: strategy ?? undefined,
  }
}
