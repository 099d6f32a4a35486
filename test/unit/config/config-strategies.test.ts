import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { settingsSchema } from '../../../src/config/settings/settings-schema.ts'
import { SCHEMAS } from '../../../src/strategies/schemas.ts'
import {
  brief,
  CONFIG,
  edit,
  loadTexts,
  plain,
  STRATEGY,
  settingsOf,
  strategyOf,
  strategyProblems,
} from './config-fixture.ts'

const USDC = settingsOf().tokens.get('USDC')?.address

function briefly(text: string, settings = settingsOf()): string[] {
  return strategyProblems(text, settings).map(brief)
}

describe('a valid strategy', () => {
  test('becomes a domain value with defaults', () => {
    expect(strategyOf(STRATEGY)).toMatchObject({
      kind: 'dca',
      name: 'weekly-eth',
      file: 'strategies/one.yaml',
      enabled: true,
      schedule: {
        cron: '0 9 * * 1',
        pattern: { hours: [9], daysOfWeek: [1] },
        timezone: 'Europe/Berlin',
        missed: 'latest',
        maxLatenessMs: 3_600_000,
      },
      sell: { token: { symbol: 'USDC' }, native: false },
      buy: { token: { symbol: 'WETH' }, native: false },
      size: { side: 'sell', amount: 25_000_000n },
      price: { min: undefined, max: undefined },
      slippageBps: 50,
      limits: { perDay: new Map(), total: new Map(), cooldownMs: 0, maxOpenIntents: 3 },
    })
  })

  test('overrides defaults and the config with its own values', () => {
    const text = `${edit(STRATEGY, 'Berlin }', 'Berlin, missed: skip, maxLateness: 6h }')}enabled: false
slippageBps: 30
limits: { perDay: 100, total: "5000", cooldown: 1h, maxOpenIntents: 1 }
`
    expect(strategyOf(text)).toMatchObject({
      enabled: false,
      slippageBps: 30,
      schedule: { missed: 'skip', maxLatenessMs: 21_600_000 },
      limits: {
        perDay: new Map([[USDC, 100_000_000n]]),
        total: new Map([[USDC, 5_000_000_000n]]),
        cooldownMs: 3_600_000,
        maxOpenIntents: 1,
      },
    })
  })

  test("inherits the config's slippage", () => {
    const settings = settingsOf(
      edit(CONFIG, '  wallet: trader', '  slippageBps: 70\n  wallet: trader'),
    )
    expect(strategyOf(STRATEGY, settings).slippageBps).toBe(70)
  })

  test('has prices as exact ratios of base units', () => {
    const { price } = strategyOf(`${STRATEGY}price: { min: "1000", max: 4000.5 }\n`)
    // 4000.5 USDC per WETH: 4_000_500_000 units of 1e-6 USDC for 1e18 wei.
    expect(price.max && price.max.num * 10n ** 18n).toBe(4_000_500_000n * (price.max?.den ?? 0n))
    expect(price.min && price.min.num * 10n ** 18n).toBe(1_000_000_000n * (price.min?.den ?? 0n))
  })

  test('sizes exact output in the bought token', () => {
    const text = `${edit(STRATEGY, 'amount: "25"', 'buyAmount: 0.01')}price: { max: 4000 }\n`
    expect(strategyOf(text).size).toEqual({ side: 'buy', amount: 10n ** 16n })
  })

  test('treats ETH as WETH with wrapping or unwrapping, on either side', () => {
    const buying = strategyOf(edit(STRATEGY, 'buy: WETH', 'buy: ETH'))
    expect(buying.buy).toMatchObject({ token: { symbol: 'WETH' }, native: true })
    const text = edit(edit(STRATEGY, 'sell: USDC', 'sell: ETH'), 'buy: WETH', 'buy: USDC')
    const selling = strategyOf(edit(text, '"25"', '"0.01"'))
    expect(selling.sell).toMatchObject({ token: { symbol: 'WETH' }, native: true })
    expect(selling.size).toEqual({ side: 'sell', amount: 10n ** 16n })
  })

  test('accepts a feed in either direction', () => {
    const text = edit(STRATEGY, 'sell: USDC', 'sell: DAI')
    expect(strategyOf(text).sell.token.symbol).toBe('DAI')
  })
})

describe('mistakes', () => {
  test('a misspelt key is shown with a caret and a suggestion', () => {
    const [problem] = strategyProblems(edit(STRATEGY, 'timezone:', 'timezome:'))
    expect(problem && plain(problem)).toMatchInlineSnapshot(`
      "strategies/one.yaml:3:32 schedule.timezome: unknown key
        2 | kind: dca
        3 | schedule: { cron: "0 9 * * 1", timezome: Europe/Berlin }
          |                                ^^^^^^^^
        expected: one of: cron, timezone, missed, maxLateness, jitter, overlap
        did you mean \`timezone\`?"
    `)
  })

  test('a cron fault is marked within the text', () => {
    const [problem] = strategyProblems(edit(STRATEGY, '0 9 * * 1', '0 25 * * 1'))
    expect(problem && plain(problem)).toMatchInlineSnapshot(`
      "strategies/one.yaml:3:22 schedule.cron: hour must be 0-23, here is "25"
        2 | kind: dca
        3 | schedule: { cron: "0 25 * * 1", timezone: Europe/Berlin }
          |                      ^^
        expected: five cron fields (minute hour day month weekday), or six with seconds first"
    `)
    const [unquoted] = strategyProblems(
      edit(STRATEGY, '{ cron: "0 9 * * 1", timezone: Europe/Berlin }', '\n  cron: 0 9 * 13 1'),
    )
    expect(unquoted).toMatchObject({ line: 4, column: 15, path: 'schedule.cron' })
  })

  test('an unknown time zone suggests the nearest zone', () => {
    const [problem] = strategyProblems(edit(STRATEGY, 'Europe/Berlin', 'Europe/Berlim'))
    expect(problem).toMatchObject({ line: 3, column: 42, suggestion: 'Europe/Berlin' })
  })

  test.each([
    ['an unknown kind', 'kind: dca', 'kind: dcaa', '2:7 kind: there is no such kind of strategy'],
    ['no kind', 'kind: dca\n', '', '1:1 kind: this key is missing'],
    ['a bad name', 'weekly-eth', 'Weekly_ETH', '1:7 name: this is not well formed'],
    [
      'an unknown token',
      'sell: USDC',
      'sell: USDT',
      '4:7 sell: the config has no token of this name',
    ],
    [
      'the same token on both sides',
      'buy: WETH',
      'buy: USDC',
      '5:6 buy: sell and buy are the same token',
    ],
    ['no size', 'amount: "25"\n', '', '1:1 amount: this order has no size'],
    [
      'two sizes',
      'amount: "25"',
      'amount: "25"\nbuyAmount: "1"\nprice: { max: 1 }',
      '7:1 buyAmount: this order has two sizes',
    ],
    ['a size of zero', '"25"', '0', '6:9 amount: this is zero'],
    [
      'a size with more decimals than its token',
      '"25"',
      '25.0000001',
      '6:9 amount: this amount has more decimal places than USDC',
    ],
    [
      'an exact output without a bound',
      'amount: "25"',
      'buyAmount: "0.01"',
      '6:1 buyAmount: nothing bounds what this exact-output order may sell',
    ],
    [
      'an order above a cap of the account',
      '"25"',
      '251',
      '6:9 amount: this order could never run: it sells more than limits.perOrder.USDC of the config allows',
    ],
    [
      'an order above a cap of the strategy',
      '"25"',
      '25\nlimits: { perDay: 24 }',
      '6:9 amount: this order could never run: it sells more than limits.perDay of this strategy allows',
    ],
    [
      'an exact output whose lowest price is above a cap',
      'amount: "25"',
      'buyAmount: 1\nprice: { min: 1000, max: 4000 }',
      '6:12 buyAmount: this order could never run: it sells more than limits.perOrder.USDC of the config allows',
    ],
    [
      'swapped prices',
      '"25"',
      '25\nprice: { min: 2, max: 1 }',
      '7:15 price.min: the lowest price is above the highest',
    ],
    [
      'a duration without its unit',
      'Berlin }',
      'Berlin, maxLateness: 6 }',
      '3:70 schedule.maxLateness: this is not a duration',
    ],
    [
      'lateness below a second',
      'Berlin }',
      'Berlin, maxLateness: 500ms }',
      '3:70 schedule.maxLateness: this duration is out of range',
    ],
    [
      'slippage out of range',
      '"25"',
      '25\nslippageBps: 2001',
      '7:14 slippageBps: this number is out of range',
    ],
    [
      'an invalid boolean',
      '"25"',
      '25\nenabled: yes',
      '7:10 enabled: this is neither true nor false',
    ],
    [
      'a cap with more decimals than its token',
      '"25"',
      '25\nlimits: { total: 30.1234567 }',
      '7:18 limits.total: this amount has more decimal places than USDC',
    ],
  ])('%s is rejected', (_, from, to, expected) => {
    expect(briefly(edit(STRATEGY, from, to))).toContain(expected)
  })

  test('ETH and WETH are one token', () => {
    const text = edit(edit(STRATEGY, 'sell: USDC', 'sell: ETH'), '"25"', '"0.1"')
    expect(briefly(text)).toEqual(['5:6 buy: sell and buy are the same token'])
  })

  test('ETH requires WETH at its fixed address', () => {
    const config = edit(
      CONFIG,
      '0x4200000000000000000000000000000000000006',
      '0x4200000000000000000000000000000000000007',
    )
    expect(briefly(edit(STRATEGY, 'buy: WETH', 'buy: ETH'), settingsOf(config))).toEqual([
      '5:6 buy: ETH is traded as WETH, and the config has no WETH',
    ])
  })

  test('a pair without a feed names the feed to add', () => {
    const settings = settingsOf(CONFIG.replace(/^ {2}DAI\/WETH: .*\n/m, ''))
    const [problem] = strategyProblems(edit(STRATEGY, 'buy: WETH', 'buy: DAI'), settings)
    expect(problem).toMatchObject({
      message: 'the config has no price feed for DAI and USDC',
      expected:
        'an entry DAI/USDC under `prices`; or here price.withoutFeed: USDC/DAI and a price.max',
    })
  })

  test('variables are not expanded in a strategy', () => {
    expect(briefly(edit(STRATEGY, '"25"', `"\${AMOUNT}"`))).toEqual([
      '6:9 amount: this is not a plain decimal',
    ])
  })
})

describe('the start of a TWAP', () => {
  const program = (start: string) =>
    edit(
      edit(STRATEGY, 'kind: dca', 'kind: twap'),
      'schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin }',
      `slices: 4\nevery: 1h\nstart: ${start}`,
    )

  test.each([
    ...['2027-02-30T09:00:00Z', '2027-02-29T09:00:00Z', '2027-06-31T09:00:00Z'],
    ...['2027-01-31T24:00:00Z', '2027-01-31T25:00:00Z', '2027-13-01T09:00:00Z'],
  ])('%s is rejected at its position', (start) => {
    expect(briefly(program(start))).toEqual(['5:8 start: this is not a time'])
  })

  test.each([
    ['2027-02-28T09:00:00Z', Date.UTC(2027, 1, 28, 9)],
    ['2028-02-29T09:00:00Z', Date.UTC(2028, 1, 29, 9)],
    ['2027-01-31T00:30:00+01:00', Date.UTC(2027, 0, 30, 23, 30)],
  ])('%s is accepted', (start, atMs) => {
    const loaded = loadTexts({ 'one.yaml': program(start) })
    expect(loaded.ok && loaded.strategies[0]?.schedule).toMatchObject({
      startSeconds: atMs / 1_000,
    })
  })
})

describe('warnings', () => {
  test('name the strategy, the limit and its position if slots would be skipped', () => {
    const text = `${STRATEGY}limits:
  cooldown: 8d
  perWeek: "60"
`
    const twice = edit(text, '"0 9 * * 1"', '"0 9 * * 1,3,5"')
    const loaded = loadTexts({ 'one.yaml': twice })
    const lines = twice.split('\n')
    const lineOf = (key: string): number => lines.findIndex((line) => line.includes(key)) + 1
    expect(loaded.ok && loaded.warnings.map(brief)).toEqual([
      `${lineOf('cooldown')}:13 limits.cooldown: weekly-eth has slots 172800 s apart, and limits.cooldown of 691200 s skips those that come before it is over`,
      `${lineOf('perWeek')}:12 limits.perWeek: weekly-eth asks for 25 USDC at more than 2 slots in a week, and limits.perWeek of 60 USDC skips the others`,
    ])
  })

  test('cover a strategy without caps and a surprising cron text', () => {
    const settings = settingsOf(edit(CONFIG, 'USDC: "1000", ', ''))
    const loaded = loadTexts({ 'a.yaml': edit(STRATEGY, '0 9 * * 1', '* 9 * * 1') }, settings)
    expect(loaded.ok && loaded.warnings.map(brief)).toEqual([
      '1:1 limits: nothing caps what this strategy sells of USDC in a day',
      expect.stringMatching(/^3:19 schedule.cron: runs in all 60 minutes/),
    ])
  })

  test('are absent for an ordinary strategy', () => {
    expect(loadTexts({ 'a.yaml': STRATEGY })).toMatchObject({ ok: true, warnings: [] })
  })
})

test('JSON Schemas for editors have descriptions and the written types', () => {
  const schema = z.toJSONSchema(SCHEMAS.dca.schema, { io: 'input' })
  expect(schema).toMatchObject({
    type: 'object',
    additionalProperties: false,
    required: ['name', 'schedule', 'sell', 'buy', 'kind'],
    properties: {
      slippageBps: { type: 'integer', minimum: 1, maximum: 2_000 },
      enabled: { type: 'boolean' },
      amount: { type: ['string', 'number'], description: expect.stringContaining('Exact input') },
      schedule: { properties: { missed: { enum: ['skip', 'latest', 'all'], default: 'latest' } } },
    },
  })
  expect(z.toJSONSchema(settingsSchema, { io: 'input' })).toMatchObject({
    required: ['mode', 'wallets', 'chains'],
    properties: { http: { properties: { port: { type: 'integer', default: '9464' } } } },
  })
})
