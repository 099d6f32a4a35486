import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type {
  Change,
  FillsPage,
  HoldingsSeries,
  Overview,
  StrategyDetail,
  StrategyRow,
  Why,
} from '../../src/ui/page/model.ts'
import { ROOT, type Running, run, start } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'
import { mentionsKey } from './audit.ts'
import { everySecond, examples, LEASH, sharedSandbox, writeStrategies } from './rehearsal.ts'

const rehearse = sharedSandbox()

async function siteOf(daemon: Running): Promise<Site> {
  const [, address = ''] = await daemon.sees(/page at (http:\/\/[^"\s]+)\//)
  return new Site(address)
}

/** Requests of a browser, and their responses. */
class Site {
  readonly seen: string[] = []
  readonly address: string

  constructor(address: string) {
    this.address = address
  }

  async get<Answer>(path: string): Promise<Answer> {
    const reply = await fetch(`${this.address}${path}`)
    const text = await reply.text()
    this.seen.push(text)
    expect([path, reply.status]).toEqual([path, 200])
    return JSON.parse(text)
  }

  /** An open event stream and what it received. */
  async listen(): Promise<{ text: string; isOver: boolean }> {
    const socket = connect({ port: Number(new URL(this.address).port), host: '127.0.0.1' })
    onTestFinished(() => void socket.destroy())
    const stream = { text: '', isOver: false }
    socket
      .on('error', () => undefined)
      .on('close', () => {
        stream.isOver = true
      })
    socket.setEncoding('utf8').on('data', (text) => {
      stream.text += text
    })
    await once(socket, 'connect')
    socket.write('GET /events?since=1 HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await waitFor('a change', () => changesIn(stream.text).length)
    return stream
  }
}

function changesIn(text: string): readonly Change[] {
  return [...text.matchAll(/\ndata: (\{.*\})\n\n/g)].map(([, data = '']) => JSON.parse(data))
}

test('the page shows fills of both venues as they arrive, and ends at once with the daemon', async () => {
  const dir = temporaryDirectory()
  const call = readFileSync(join(ROOT, 'strategies/sandbox/call.yaml'), 'utf8')
  writeStrategies(join(dir, 'strategies/sandbox'), {
    ...examples('* * * * * *'),
    call: call.replace(/cron: "[^"]+"/, 'cron: "*/2 * * * * *"'),
  })
  const config = join(dir, 'sandbox.yaml')
  const settings = parse(readFileSync(join(ROOT, 'config/sandbox.yaml'), 'utf8'))
  const stateDir = join(dir, 'state')
  const strategiesDir = join(dir, 'strategies/sandbox')
  writeFileSync(config, stringify({ ...settings, stateDir, strategiesDir }))
  const daemon = start(['run', '--config', config, '--http-port', '0', ...LEASH])
  const site = await siteOf(daemon)
  const stream = await site.listen()
  const read = async () => (await site.get<FillsPage>('/api/fills?limit=500')).fills
  const fills = await waitFor(
    'fills of both venues',
    read,
    (seen) => new Set(seen.map(({ venue }) => venue)).size === 2,
  )
  const swap = fills.find(({ venue }) => venue === 'gasless')
  expect(swap).toMatchObject({ sold: {}, bought: {}, vsFeedBps: expect.any(Number), paper: false })
  const called = fills.find(({ venue }) => venue === 'aggregated')
  expect(called).toMatchObject({ call: 'record(bytes32)', charged: { token: 'ETH' } })
  for (const fill of [swap, called]) {
    const why = await site.get<Why>(`/api/why?slot=${fill?.intentId}`)
    const titles = why.lines.map(({ title }) => title)
    expect(titles[0]).toMatch(/^opened /)
    expect(titles.some((title) => /^(filled|executed): /.test(title))).toBe(true)
  }
  const overview = await site.get<Overview>('/api/overview')
  expect(overview).toMatchObject({
    mode: 'sandbox',
    valueToken: 'USDC',
    gasTank: { unknown: null },
  })
  expect(overview.wallets.map(({ name }) => name)).toEqual(['trader', 'operator'])
  expect(Number(overview.totalValue)).toBeGreaterThan(1_000)
  expect(overview.limits.length).toBeGreaterThan(0)
  const rows = await site.get<StrategyRow[]>('/api/strategies')
  expect(rows.map(({ name }) => name)).toContain('call')
  expect((await site.get<HoldingsSeries>('/api/holdings')).value.length).toBeGreaterThan(0)
  const name = swap?.strategy ?? ''
  const detail = await waitFor(
    'the profit and prices of a strategy',
    () => site.get<StrategyDetail>(`/api/strategy?name=${name}`),
    ({ traded, chart }) => traded.length > 0 && (chart?.prices.length ?? 0) > 0,
  )
  expect(detail).toMatchObject({
    profit: { realised: { token: 'USDC' } },
    file: { differs: false, problems: [] },
  })
  expect(detail.file?.text).toContain(`name: ${name}`)
  expect(detail.chart?.fills.length).toBeGreaterThan(0)
  const { call: caller } = await site.get<StrategyDetail>('/api/strategy?name=call')
  expect(caller).toMatchObject({ function: 'record(bytes32)', charge: { token: 'ETH' } })
  const streamed = () => changesIn(stream.text).flatMap((each) => each.fills).length
  await waitFor('more than five fills', streamed, (count) => count > 5)
  const ids = changesIn(stream.text).map(({ overview: { revision } }) => revision)
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b))

  const { code, stdout } = await daemon.stop()
  expect(code).toBe(0)
  expect(stream.isOver).toBe(true)
  const key = readFileSync(join(stateDir, 'trader.key'), 'utf8').trim()
  expect(mentionsKey([stdout, stream.text, ...site.seen].join('\n'), key)).toBe(false)
})

test('a restart keeps the past, a reload shows at once, and long-open streams harm no state', async () => {
  const rehearsal = await rehearse({ ...everySecond('buy-weth'), ...everySecond('other') })
  const first = rehearsal.daemon()
  await first.sees(/filled buy-weth/)
  await first.sees(/filled other/)
  const pause = ['pause', 'other', '--config', rehearsal.config]
  expect((await run(pause)).code).toBe(0)
  await first.sees(/skipped other .*paused/)
  expect((await first.stop()).code).toBe(0)

  const daemon = rehearsal.daemon()
  const site = await siteOf(daemon)
  const rows = await site.get<StrategyRow[]>('/api/strategies')
  expect(rows).toMatchObject([
    { name: 'buy-weth', state: 'active', lastSlot: { outcome: expect.any(String) } },
    {
      name: 'other',
      state: 'paused',
      lastSkip: { reason: 'paused' },
      paused: { cause: 'operator' },
    },
  ])
  const { fills } = await site.get<FillsPage>('/api/fills?strategy=other')
  expect(fills[0]).toMatchObject({ strategy: 'other', sold: { token: 'USDC' } })

  const file = join(rehearsal.dir, 'strategies/other.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace('kind: dca', 'kind: dca\nenabled: false'))
  const shown = async (): Promise<string | undefined> =>
    (await site.get<StrategyRow[]>('/api/strategies')).find(({ name }) => name === 'other')?.state
  await waitFor('the reload', shown, (state) => state === 'disabled')
  await site.get<HoldingsSeries>('/api/holdings')
  const held = join(rehearsal.stateDir, 'holdings.jsonl')
  await waitFor('holdings on disk', () => statSync(held).size)
  expect(statSync(held).mode & 0o777).toBe(0o600)
  expect((await daemon.stop()).code).toBe(0)

  writeFileSync(held, 'damaged\n')
  const at = ['--config', rehearsal.config]
  expect((await run(['state', 'verify', ...at])).code).toBe(0)
  const backup = join(rehearsal.dir, 'backup.tar')
  expect((await run(['state', 'backup', backup, ...at])).code).toBe(0)
  const last = rehearsal.daemon()
  const again = await siteOf(last)
  await again.get<HoldingsSeries>('/api/holdings?range=year')
  await last.sees(/holdings\.jsonl: 1 of its lines cannot be read; it was moved to/)
  expect((await last.stop()).code).toBe(0)
  expect(mentionsKey([...site.seen, ...again.seen].join('\n'), rehearsal.key)).toBe(false)
})

test('without a page in the config no page is served, and the metrics still are', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const settings = parse(readFileSync(rehearsal.config, 'utf8'))
  writeFileSync(
    rehearsal.config,
    stringify({ ...settings, http: { ...settings.http, page: false } }),
  )
  const daemon = rehearsal.daemon()
  const [, address = ''] = await daemon.sees(/metrics at (http:\/\/[^"\s]+)\/metrics/)
  await daemon.sees(/strategy buy-weth/)
  expect(daemon.output()).not.toContain('page at')
  for (const path of ['/', '/api/overview', '/events'])
    expect(await statusOf(`${address}${path}`)).toBe(404)
  expect(await statusOf(`${address}/metrics`)).toBe(200)
  expect((await daemon.stop()).code).toBe(0)
})

async function statusOf(url: string): Promise<number> {
  const reply = await fetch(url)
  await reply.text()
  return reply.status
}
