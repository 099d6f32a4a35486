import { type Address, parseAddress } from '../../domain/money/units.ts'

/** The first line of a file of rounds from a chain. */
export type FileHead = {
  readonly chainId: number
  readonly feed: Address
  /** Of the feed's answers. */
  readonly decimals: number
}

const HEAD = /^# rounds of a feed: chain (\d{1,15}), feed (0x[0-9a-f]{40}), decimals (\d{1,2})\r?\n/

/** A comment for other readers. */
export function headText({ chainId, feed, decimals }: FileHead): string {
  return `# rounds of a feed: chain ${chainId}, feed ${feed}, decimals ${decimals}\n`
}

/** Longer than any first line that `headText` writes. */
export const HEAD_BYTES_MAX = 160

/** Undefined if the bytes begin with no such line. */
export function headOf({ bytes }: { readonly bytes: Buffer }): FileHead | undefined {
  const match = HEAD.exec(bytes.toString('latin1', 0, HEAD_BYTES_MAX))
  const feed = parseAddress(match?.[2] ?? '')
  if (match === null || feed === undefined) return undefined
  return { chainId: Number(match[1]), feed, decimals: Number(match[3]) }
}
