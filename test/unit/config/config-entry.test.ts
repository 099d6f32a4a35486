import { expect, test } from 'vitest'
import { brief, loadTexts, STRATEGY } from './config-fixture.ts'

const EXIT = `name: exit
kind: threshold
schedule: { cron: "* * * * *" }
sell: WETH
buy: USDC
amount: 100%
entryOf: weekly-eth
takeProfit: 10%
stopLoss: 5%
limits: { perDay: "1" }
`

function problems(text: string, other = STRATEGY): readonly string[] {
  const loaded = loadTexts({ 'buy.yaml': other, 'exit.yaml': text })
  return loaded.ok ? [] : loaded.problems.map(brief)
}

test('take-profit and stop-loss can be measured from the entry of another strategy', () => {
  const loaded = loadTexts({ 'buy.yaml': STRATEGY, 'exit.yaml': EXIT })
  const exit = loaded.ok ? loaded.strategies.find(({ name }) => name === 'exit') : undefined
  expect(exit).toMatchObject({
    entryOf: 'weekly-eth',
    rungs: [
      { id: 'gain 10%', trigger: { type: 'gain', bps: 1_000 } },
      { id: 'loss 5%', trigger: { type: 'loss', bps: 500 } },
    ],
  })
})

test('a percentage without a matching entry is an error that says what is missing', () => {
  expect(problems(EXIT.replace('entryOf: weekly-eth\n', ''))).toEqual([
    expect.stringMatching(/takeProfit: a percentage needs an entry/),
  ])
  expect(problems(EXIT.replace('weekly-eth', 'weekly-et'))).toEqual([
    expect.stringMatching(/entryOf: no strategy has this name/),
  ])
  expect(problems(EXIT, STRATEGY.replace('buy: WETH', 'buy: DAI'))).toEqual([
    expect.stringMatching(/entryOf: weekly-eth does not buy WETH with USDC/),
  ])
  expect(problems(EXIT.replace('weekly-eth', 'exit'))).toContainEqual(
    expect.stringMatching(/a strategy that sells has no entry of its own/),
  )
  const other = EXIT.replace('sell: WETH', 'sell: USDC').replace('buy: USDC', 'buy: WETH')
  expect(problems(other.replace('perDay: "1"', 'perDay: "100"'))).toContainEqual(
    expect.stringMatching(/it sells USDC, and the price is that of WETH/),
  )
})

test('a price is allowed beside a percentage, and a percentage has a range', () => {
  expect(problems(EXIT.replace('stopLoss: 5%', 'stopLoss: "1500"'))).toEqual([])
  expect(problems(EXIT.replace('stopLoss: 5%', 'stopLoss: 100%'))).toEqual([
    expect.stringMatching(/stopLoss: this percentage is out of range/),
  ])
})
