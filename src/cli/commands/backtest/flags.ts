import type { FillModel } from '../../../backtest/model.ts'
import { type Expectation, parseExpectation } from '../../../backtest/report/expect.ts'
import { ETHER, type Token } from '../../../domain/money/token.ts'
import { type Address, parseAmount } from '../../../domain/money/units.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { ConfigOptions } from '../../load-files.ts'
import { EXIT } from '../../process/io.ts'
import { Refusal } from '../../process/refusal.ts'

export type BacktestOptions = ConfigOptions & {
  readonly from?: number
  readonly to?: number
  readonly balance?: readonly string[]
  readonly prices?: string
  readonly market?: string
  readonly volatility?: number
  readonly start?: readonly string[]
  readonly model?: 'default' | 'from-journal'
  /** Basis points. */
  readonly spread?: number
  readonly fee?: number
  readonly depth?: string
  /** Percent. */
  readonly failureRate?: number
  readonly latency?: number
  readonly wrapGas?: string
  readonly callCharge?: string
  readonly gasTank?: string
  readonly seed?: string
  readonly html?: string
  /** Lets `html` replace a file that is not a report. */
  readonly force?: boolean
  readonly vary?: boolean
  readonly expect?: readonly string[]
  readonly sweep?: readonly string[]
  /** Number of parts of the period; true for the default. */
  readonly walkForward?: number | true
  readonly bestBy?: 'return' | 'drawdown'
  readonly jobs?: number
}

export class FlagFault extends Refusal {
  override readonly name = 'FlagFault'
  constructor(flag: string, message: string, expected: string, by = 'backtest') {
    super(`--${flag}: ${message}\n  expected: ${expected}`, { by, code: EXIT.usage })
  }
}

const NAMED = /^([^=\s]+)=(\S+)$/

/** Balances in base units, from `USDC=1000` once per token; ETH is the native coin. Default: the config's `paper`. */
export function balancesOf(
  texts: readonly string[],
  { tokens, paper, gasless }: Pick<Settings, 'tokens' | 'paper' | 'gasless'>,
): ReadonlyMap<Address, bigint> {
  if (texts.length === 0 && paper !== undefined) return paper
  const known = [...tokens.values()].filter(({ chain }) => chain === gasless.chain).concat(ETHER)
  const example = `${exampleOf(known)}=1000`
  const wrong = (message: string, expected: string) => new FlagFault('balance', message, expected)
  if (texts.length === 0) {
    const expected = `an amount for each token, such as --balance ${example}`
    throw wrong('no starting balance is given', expected)
  }
  const balances = new Map<Address, bigint>()
  for (const text of texts) {
    const [, symbol = '', amount = ''] = NAMED.exec(text) ?? []
    const token = known.find((each) => each.symbol === symbol)
    if (symbol === '') throw wrong(`\`${text}\` is not a balance`, `such as ${example}`)
    if (token === undefined) {
      const names = known.map((each) => each.symbol).join(', ')
      throw wrong(`the config has no token ${symbol}`, `one of ${names}`)
    }
    const { address } = token
    if (balances.has(address)) throw wrong(`${symbol} is given twice`, 'each token once')
    balances.set(address, amountOf('balance', amount, token))
  }
  return balances
}

function exampleOf(tokens: readonly Token[]): string {
  return (tokens.find(({ symbol }) => symbol.startsWith('USD')) ?? tokens[0] ?? ETHER).symbol
}

function amountOf(flag: string, text: string, { decimals, symbol }: Token): bigint {
  const amount = parseAmount(text, decimals)
  if (amount !== undefined) return amount
  const expected = `a decimal number with at most ${decimals} places`
  throw new FlagFault(flag, `\`${text}\` is not an amount of ${symbol}`, expected)
}

export function modelOf(
  options: BacktestOptions,
  { base, valueToken }: { readonly base: FillModel; readonly valueToken: Token | undefined },
) {
  const { spread, fee, depth, failureRate, latency, wrapGas, callCharge, gasTank, seed } = options
  const changes: Partial<FillModel> = {
    ...(spread === undefined ? {} : { spreadPpm: Math.round(spread * 100) }),
    ...(fee === undefined ? {} : { feePpm: Math.round(fee * 100) }),
    ...(depth === undefined ? {} : { depth: depthOf(depth, valueToken) }),
    ...(failureRate === undefined ? {} : { failurePpm: Math.round(failureRate * 10_000) }),
    ...(latency === undefined ? {} : { fillSeconds: Math.round(latency / 1000) }),
    ...(wrapGas === undefined ? {} : { wrapWei: amountOf('wrap-gas', wrapGas, ETHER) }),
    ...(callCharge === undefined ? {} : { callWei: amountOf('call-charge', callCharge, ETHER) }),
    ...(gasTank === undefined ? {} : { tankWei: amountOf('gas-tank', gasTank, ETHER) }),
    ...(seed === undefined ? {} : { seed }),
  }
  return { model: { ...base, ...changes }, isChanged: Object.keys(changes).length > 0 }
}

function depthOf(text: string, valueToken: Token | undefined): bigint {
  if (valueToken === undefined)
    throw new FlagFault('depth', 'no price feed gives values', 'a config with price feeds')
  const depth = amountOf('depth', text, valueToken)
  if (depth === 0n) throw new FlagFault('depth', 'it is 0', 'a value above 0')
  return depth
}

export function expectationsOf(texts: readonly string[]): readonly Expectation[] {
  return texts.map((text) => {
    const parsed = parseExpectation(text)
    if ('message' in parsed) throw new FlagFault('expect', parsed.message, parsed.expected)
    return parsed
  })
}

/** Initial prices of a random market, from `WETH=2500`. */
export function startsOf(texts: readonly string[]): ReadonlyMap<string, number> {
  return new Map(
    texts.map((text) => {
      const [, symbol = '', price = ''] = NAMED.exec(text) ?? []
      const number = Number.parseFloat(price)
      const message = `\`${text}\` is not a price`
      if (symbol === '' || !(number > 0))
        throw new FlagFault('start', message, 'a token and a number: WETH=2500')
      return [symbol, number] as const
    }),
  )
}
