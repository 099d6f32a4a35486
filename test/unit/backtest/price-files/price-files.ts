import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { csvSeries } from '../../../../src/backtest/price-files/csv.ts'
import type { LayoutOptions } from '../../../../src/backtest/price-files/layout.ts'
import { PriceFileError } from '../../../../src/backtest/price-files/price-file-error.ts'
import { answerAt, type PriceSeries } from '../../../../src/domain/money/price-series.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'

export const PAIR = 'WETH/USDC'

/** Creates a price file with this text; removed after the test. */
export function priceFile(text: string | Buffer, name = 'WETH-USDC.csv'): string {
  const dir = temporaryDirectory()
  mkdirSync(dir, { recursive: true })
  const file = join(dir, name)
  writeFileSync(file, text)
  return file
}

/** Every round of a series: seconds and the exact answer. */
export function roundsOf(series: PriceSeries): readonly (readonly [number, bigint])[] {
  return [...series.rounds()].flatMap((piece) =>
    Array.from(piece.atSeconds, (at, index) => [at, answerAt(piece, index)] as const),
  )
}

/** Rounds of a file with this text. */
export function read(text: string, options: Partial<LayoutOptions> = {}) {
  return roundsOf(csvSeries({ file: priceFile(text), pair: PAIR, ...options }))
}

export type Fault = PriceFileError['fault'] & { readonly message: string }

/** Error from opening or reading a price file. */
export function faultOf(read: () => unknown): Fault {
  try {
    read()
  } catch (error) {
    if (error instanceof PriceFileError) return { message: error.message, ...error.fault }
    throw error
  }
  return expect.unreachable('nothing is wrong with it')
}
