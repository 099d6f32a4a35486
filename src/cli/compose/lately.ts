import { join } from 'node:path'
import { HOLDINGS_FILE } from '../../adapters/page/holdings-curve.ts'
import { readHoldings } from '../../adapters/page/holdings-file.ts'
import { readLately } from '../../adapters/page/lately.ts'
import type { EndedSlot } from '../../adapters/page/sightings.ts'
import { stateFiles } from '../../adapters/state/state-files.ts'
import type { Token } from '../../domain/token.ts'
import { parseAmount } from '../../domain/units.ts'
import { amountData } from '../amount-data.ts'
import type { AmountData } from '../json/shapes.ts'

/** The last slot of each strategy that has ended, as far as the newest files of the journal say. */
export async function lastSlotsIn(
  journal: { readonly stateDir: string; readonly archive: string | undefined },
  strategies: readonly string[],
): Promise<ReadonlyMap<string, EndedSlot>> {
  const { stateDir, archive } = journal
  const place = { dir: stateFiles(stateDir).journal, archive }
  const { slots } = await readLately(place, { fills: 0, strategies })
  const last = new Map<string, EndedSlot>()
  // The newest comes first, and then the last one that was skipped.
  for (const { strategy, slot } of slots) if (!last.has(strategy)) last.set(strategy, slot)
  return last
}

/** What was held over time, as the daemon noted it, in the value token of today; oldest first. */
export async function holdingsOverTime(
  stateDir: string,
  query: { readonly valueToken: Token | undefined; readonly sinceMs: number | undefined },
): Promise<readonly { readonly at: string; readonly value: AmountData | null }[]> {
  const { valueToken, sinceMs = Number.NEGATIVE_INFINITY } = query
  const samples = await readHoldings(join(stateDir, HOLDINGS_FILE))
  return samples
    .filter((sample) => sample.at * 1000 >= sinceMs && sample.valueToken === valueToken?.symbol)
    .map(({ at, value }) => ({
      at: new Date(at * 1000).toISOString(),
      value: value === null || valueToken === undefined ? null : figureData(value, valueToken),
    }))
}

/** A figure of a curve is a float: of more places than these it knows nothing. */
const FIGURE_PLACES = 6

function figureData(value: number, { symbol }: Token): AmountData | null {
  const amount = parseAmount(value.toFixed(FIGURE_PLACES), FIGURE_PLACES)
  return amount === undefined ? null : amountData(amount, { symbol, decimals: FIGURE_PLACES })
}
