import { priceDir } from '../../adapters/prices/price-dir.ts'
import { PriceFileError } from '../../adapters/prices/price-file-error.ts'
import type { Problem } from '../../config/yaml/problem.ts'

/** Past prices of feeds from a directory of CSV files; see `priceDir`. */
export const openPriceDir = priceDir

/** What is wrong with a file of prices, told as of any file of the operator's; undefined for every other error. */
export function priceProblem(error: unknown): Problem | undefined {
  if (!(error instanceof PriceFileError)) return undefined
  const { file, line, detail: message, remedy: expected, text } = error
  const isPlaced = line > 0
  const frame = isPlaced && text !== '' ? `${line} | ${text}` : ''
  return { file, line, column: isPlaced ? 1 : 0, path: '', message, expected, frame }
}
