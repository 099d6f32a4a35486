import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../domain/errors.ts'
import type { PriceFeed } from '../../domain/money/price.ts'
import type { PriceSeries } from '../../domain/money/price-series.ts'
import type { Pair } from '../../domain/money/token.ts'
import { csvSeries } from './csv.ts'
import { PriceFileError } from './price-file-error.ts'

const LISTED_MAX = 20

type Feeds = Iterable<Pick<PriceFeed, 'pair'>>

/**
 * One series per feed from a directory, by file name: `WETH-USDC.csv` for WETH/USDC, also with an underscore or without a
 * separator, and in lower case. A file of the opposite pair is never inverted, because its prices were not the feed's.
 * Throws PriceFileError for a feed without a file, and for unusable files.
 */
export function priceDir(from: {
  readonly dir: string
  readonly feeds: Feeds
  /** Feeds that may lack a file. */
  readonly more?: Feeds
}): readonly PriceSeries[] {
  const { dir, feeds, more = [] } = from
  const files = csvFilesOf(dir)
  const needed = [...feeds].map(({ pair }) => [pair, neededFile(pair, files, dir)] as const)
  const others = [...more].flatMap(({ pair }) => {
    const name = fileOf(pair, files, dir)
    return name === undefined ? [] : [[pair, name] as const]
  })
  return [...needed, ...others].map(([pair, name]) => csvSeries({ file: join(dir, name), pair }))
}

/** Name that this program gives to a pair's file. */
export function priceFileName(pair: Pair): string {
  return `${pair.replace('/', '-')}.csv`
}

function csvFilesOf(dir: string): readonly string[] {
  try {
    return readdirSync(dir)
      .filter((name) => /\.csv$/i.test(name))
      .sort()
  } catch (error) {
    const code = codeOf(error) ?? String(error)
    const detail =
      code === 'ENOENT' ? 'there is no such directory' : `the directory cannot be read (${code})`
    const remedy = 'a directory with a CSV file for each feed; `tranched backtest fetch` makes one'
    throw new PriceFileError({ file: dir, detail, remedy })
  }
}

function fileOf(pair: Pair, files: readonly string[], dir: string): string | undefined {
  const [base = '', quote = ''] = pair.split('/')
  const found = files.filter((name) => namesOf(base, quote).includes(name))
  if (found.length > 1)
    throw new PriceFileError({
      file: dir,
      detail: `${found.join(' and ')} are both prices of ${pair}`,
      remedy: `one of them, ${priceFileName(pair)}`,
    })
  return found[0]
}

function neededFile(pair: Pair, files: readonly string[], dir: string): string {
  const name = fileOf(pair, files, dir)
  if (name !== undefined) return name
  const [base = '', quote = ''] = pair.split('/')
  const wanted = priceFileName(pair)
  const opposite = files.find((each) => namesOf(quote, base).includes(each))
  if (opposite !== undefined)
    throw new PriceFileError({
      file: join(dir, opposite),
      detail: `these are prices of ${quote}/${base}, and the feed is ${pair}: no file is turned over`,
      remedy: `${wanted}, prices of one ${base} in ${quote}`,
    })
  throw new PriceFileError({
    file: dir,
    detail: `there is no file of ${pair}; ${listText(files)}`,
    remedy: `${wanted} with a time and a price of one ${base} in ${quote} a row; \`tranched backtest fetch ${pair}\` makes it`,
  })
}

function namesOf(base: string, quote: string): readonly string[] {
  const names = ['-', '_', ''].map((between) => `${base}${between}${quote}.csv`)
  return [...names, ...names.map((name) => name.toLowerCase())]
}

function listText(files: readonly string[]): string {
  if (files.length === 0) return 'the directory has no CSV file'
  const more = files.length - LISTED_MAX
  const listed = files.slice(0, LISTED_MAX).join(', ')
  return more > 0 ? `there are: ${listed} and ${more} more` : `there are: ${listed}`
}
