import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { BacktestResult, SweepResult } from '../../../../src/backtest/report/result.ts'
import { backtest } from '../../../../src/backtest/run.ts'
import { withCoinciding } from '../../../../src/ui/report/data/charts.ts'
import { backtestHtml } from '../../../../src/ui/report/html.tsx'
import { USDC, WETH } from '../../../simulation/stage.ts'
import { aTape, DAY, inputOf, recording, YEAR_BEGINS } from '../../../support/backtest/playing.ts'
import { aSchedule, aStrategy, usdc } from '../../../support/builders.ts'

const ASSETS = { script: 'start()', style: 'body{color:red}', version: '1.2.3' }
const HOSTILE = `</script><img src=x onerror=alert(1)>"'&<!--`

async function aResult(days: number, { prices = true, weth = 0n } = {}): Promise<BacktestResult> {
  const hours = Array.from({ length: days * 24 }, (_, hour) => YEAR_BEGINS + hour * 3_600)
  const rounds = hours.map((at): [number, number] => [at, 2_500 + 300 * Math.sin(at / 400_000)])
  const { listener: _, ...input } = inputOf(
    {
      strategies: [aStrategy({ name: 'hourly', schedule: aSchedule('0 * * * *') })],
      usdc: usdc(days * 600),
      weth,
      priceSeries: prices ? [aTape(rounds)] : [],
      untilSeconds: YEAR_BEGINS + days * DAY,
    },
    recording().listener,
  )
  const result = await backtest({
    ...input,
    ...{ tokens: [USDC, WETH], modelSource: 'default', varies: false },
  })
  if (result === undefined) throw new Error('it was stopped')
  return result
}

const SWEEP: SweepResult = {
  axes: [
    { key: 'band', values: ['1%', '2%'] },
    { key: HOSTILE, values: ['5', HOSTILE] },
  ],
  metric: 'returnPercent',
  points: [
    { values: ['1%', '5'], returnPercent: 1, drawdownPercent: 3, fills: 2 },
    { values: ['1%', HOSTILE], returnPercent: 9, drawdownPercent: 4, fills: 1 },
    { values: ['2%', '5'], returnPercent: 1.5, drawdownPercent: 2, fills: 8 },
    { values: ['2%', HOSTILE], returnPercent: null, drawdownPercent: null, fills: 0 },
  ],
  best: 1,
  isLonely: true,
  walkForward: null,
}

describe('the HTML report of a backtest', () => {
  test('begins with what was given, and what it became against holding', async () => {
    const textOf = (page: string): string =>
      (/<p class="headline">(.*?)<\/p>/s.exec(page)?.[1] ?? '').replace(/<[^>]+>/g, '')
    const one = textOf(backtestHtml(await aResult(3), ASSETS))
    expect(one).toMatch(
      /^1,800 USDC became [\d,]+\.\d\d USDC \(.+ %\), .+ than holding\. Held as it was/,
    )
    const two = textOf(backtestHtml(await aResult(3, { weth: 10n ** 18n }), ASSETS))
    expect(two).toMatch(/^1,800 USDC and 1 WETH, worth 4,\d{3}\.\d\d USDC, became /)
  })

  test('of a curve on another one says so, and draws the lower one wide', () => {
    const [flat, low] = [
      [5, 5, 5],
      [1, 2, 3],
    ]
    const chart = (lines: readonly { name: string; points: readonly number[] }[]) =>
      withCoinciding({
        ...{ id: 'value', title: '', about: '', kind: 'lines', height: 'low', unit: '' },
        lines: lines.map((line, look) => ({ ...line, look })),
      }).lines.map(({ name, isWide }) => [name, isWide])
    expect(
      chart([
        { name: 'a', points: flat },
        { name: 'b', points: low },
        { name: 'c', points: flat },
      ]),
    ).toEqual([
      ['a', true],
      ['b', false],
      ['c (same as a)', false],
    ])
  })

  test('allows only its own script and style, and requests nothing', async () => {
    const page = backtestHtml(await aResult(3), ASSETS)
    const [, policy = ''] = /content-security-policy" content="([^"]+)"/.exec(page) ?? []
    const hashOf = (text: string): string =>
      `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    expect(policy).toContain(`default-src 'none'`)
    expect(policy).toContain(`script-src ${hashOf(ASSETS.script)}`)
    expect(policy).toContain(`style-src ${hashOf(ASSETS.style)}`)
    expect(page).not.toMatch(/https?:\/\//)
    expect(page).not.toMatch(/\s(?:src|action|style|on\w+)="/)
  })

  test('escapes every text of a result', async () => {
    const plain = await aResult(3)
    const sweep = SWEEP
    const hostile = JSON.parse(
      JSON.stringify({ ...plain, sweep, notes: [HOSTILE] }).replaceAll(
        '"hourly"',
        JSON.stringify(HOSTILE),
      ),
    ) as BacktestResult
    const page = backtestHtml(hostile, ASSETS)
    expect(page).not.toContain('<img')
    expect(page.match(/<script/g)?.length).toBe(2)
    expect(page.match(/<\/script>/g)?.length).toBe(2)
    expect(page).toContain('&lt;img src=x onerror=alert(1)>')
    const [, json = ''] = /id="data">([^<]*)<\/script>/.exec(page) ?? []
    const data = JSON.parse(json) as { slots: { words: readonly string[] } }
    expect(data.slots.words).toContain(HOSTILE)
  })

  test('shows the figures, and warns of a best point without good neighbours', async () => {
    const result = await aResult(3)
    const page = backtestHtml({ ...result, sweep: SWEEP }, ASSETS)
    expect(page).toContain('The best point stands alone.')
    expect(page).toContain(`1 Jan 2025 to 4 Jan 2025`)
    for (const section of ['figures', 'sweep', 'charts', 'slots', 'fills', 'model', 'definitions'])
      expect(page).toContain(`<section id="${section}"`)
    expect(page).toContain('73 slots')
  })

  test('has a bounded size for long periods', async () => {
    const year = await aResult(365)
    expect(year.strategies[0]?.slots).toBe(8_761)
    const page = backtestHtml(year, ASSETS)
    expect(page.length).toBeLessThan(2_500_000)
  })

  test('has complete texts without prices and without fills', async () => {
    const page = backtestHtml(await aResult(1, { prices: false, weth: 1n }), ASSETS)
    expect(page).toContain('0 of 25 slots were filled')
    expect(page).toContain('Nothing was filled in the period.')
    const empty = {
      ...(await aResult(1, { prices: false })),
      strategies: [],
      slots: [],
      prices: [],
    }
    expect(backtestHtml(empty, ASSETS)).toContain('No slot was due in the period.')
  })

  test('rejects a script or style that would close its own element', async () => {
    const result = await aResult(1)
    expect(() => backtestHtml(result, { ...ASSETS, script: '"</script>"' })).toThrow('script')
    expect(() => backtestHtml(result, { ...ASSETS, style: '</style>' })).toThrow('style')
  })
})
