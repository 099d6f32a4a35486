import { expect, test } from 'vitest'
import { type QuoteReport, quoteLines, reportOf } from '../../../src/cli/commands/inspect/quote.ts'
import { priceText } from '../../../src/domain/money/amount-text.ts'
import { type BaseUnits, baseUnits } from '../../../src/domain/money/units.ts'
import type { Quote } from '../../../src/domain/order/quote.ts'
import { USDC, WETH, WETH_USDC } from '../../simulation/stage.ts'
import { anIntent, aView, NOON_SECONDS } from '../../support/builders.ts'
import { settingsOf } from '../config/config-fixture.ts'

const settings = { ...settingsOf(), prices: new Map([['WETH/USDC', WETH_USDC] as const]) }
const asset = {
  usdc: { token: USDC, native: false },
  weth: { token: WETH, native: false },
} as const

/** The preview of an order in one direction, at this quote. The feed says 2,500 USDC per WETH. */
async function preview(sides: 'buy' | 'sell', sellAmount: BaseUnits, buyAmount: BaseUnits) {
  const [sell, buy] = sides === 'buy' ? [asset.usdc, asset.weth] : [asset.weth, asset.usdc]
  const intent = anIntent({
    sell,
    buy,
    maxSell: sellAmount,
    size: { side: 'sell', amount: sellAmount },
  })
  const quoted = {
    ...{ sellAmount, buyAmount, minBuyAmount: buyAmount - 1n, feeAmount: 0n },
    ...{ typedData: {}, validToSeconds: NOON_SECONDS + 60, expirationMs: 0 },
  } as unknown as Quote
  const market = { view: aView() }
  const report: QuoteReport = await reportOf({
    settings,
    market,
    intent,
    quoted,
    nowMs: NOON_SECONDS * 1_000,
  })
  const lines = quoteLines(report)
  const why = priceText({ num: sellAmount, den: buyAmount }, { sell: sell.token, buy: buy.token })
  return { report, price: lines[3], feed: lines[4], why }
}

test('a purchase and a sale state their price in the same direction, as `why` does', async () => {
  const bought = await preview('buy', baseUnits(25_000_000n), baseUnits(10n ** 16n))
  expect(bought.price).toBe('price       2,500 USDC per WETH, 0 bps off the feed')
  expect(bought.why).toBe('2,500 USDC per WETH')
  const sold = await preview('sell', baseUnits(10n ** 16n), baseUnits(24_966_666n))
  expect(sold.price).toMatch(/^price +2,496\.6666\d* USDC per WETH, 13\.3 bps off the feed$/)
  expect(sold.why).toBe('2,496.66 USDC per WETH')
  for (const { feed } of [bought, sold])
    expect(feed).toMatch(/^feed +2,500 USDC per WETH \(WETH\/USDC, \d+ s old\)$/)
  // For scripts: the amount sold for one unit bought, in enough digits.
  expect(sold.report.price).toMatch(/^0\.0004005\d{10,}$/)
})
