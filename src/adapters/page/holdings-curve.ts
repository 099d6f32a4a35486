import { join } from 'node:path'
import type { Observation } from '../../domain/observation.ts'
import { HoldingsFile } from './holdings-file.ts'
import { type HoldingsSample, SAMPLE_SECONDS, seriesOf } from './holdings-series.ts'
import type { HoldingsRange, HoldingsSeries } from './model.ts'
import type { Valued } from './valuation.ts'

/** Its name in the state directory. */
export const HOLDINGS_FILE = 'holdings.jsonl'

export type HoldingsCurveOptions = {
  readonly stateDir: string
  readonly now: () => number
  /** What is held now, as far as it was read. */
  readonly value: () => Valued
  readonly warn: (message: string) => void
}

/** Notes what is held every ten minutes, from the first time on that the wallet was read. */
export class HoldingsCurve {
  readonly #options: HoldingsCurveOptions
  readonly #file: HoldingsFile
  #nextSeconds: number | undefined

  constructor(options: HoldingsCurveOptions) {
    this.#options = options
    const { stateDir, now: nowMs, warn } = options
    this.#file = new HoldingsFile({ file: join(stateDir, HOLDINGS_FILE), nowMs, warn })
  }

  saw({ type }: Observation): void {
    if (type === 'portfolio') this.#nextSeconds ??= this.#nowSeconds()
    // Told at each turn of the loop, also while no node answers: what cannot be read then is noted as that.
    if (type === 'open-orders') this.#noteWhenDue()
  }

  async series(range: HoldingsRange): Promise<HoldingsSeries> {
    return seriesOf(await this.#file.samples(), range, this.#nowSeconds())
  }

  #noteWhenDue(): void {
    const nowSeconds = this.#nowSeconds()
    const next = this.#nextSeconds
    // A clock that was set back would put the next one off for as long.
    if (next === undefined || (nowSeconds < next && next - nowSeconds <= SAMPLE_SECONDS)) return
    this.#nextSeconds = nowSeconds + SAMPLE_SECONDS
    void this.#file.add(sampleOf(this.#options.value(), nowSeconds))
  }

  #nowSeconds(): number {
    return Math.floor(this.#options.now() / 1000)
  }
}

function sampleOf({ valueToken, totalValue, holdings }: Valued, at: number): HoldingsSample {
  const held = holdings.map(({ token, amount }) => [token, figureOf(amount)] as const)
  return { at, valueToken, value: figureOf(totalValue), held: Object.fromEntries(held) }
}

/** For a curve a float is near enough. */
function figureOf(amount: string | null): number | null {
  return amount === null ? null : Number.parseFloat(amount)
}
