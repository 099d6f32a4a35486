import { type Address, parseAddress } from '../../domain/units.ts'

/** What a file of rounds that were read from a chain says of itself. */
export type FileHead = {
  readonly chainId: number
  readonly feed: Address
  /** Places of the feed's answers. */
  readonly decimals: number
}

const HEAD = /^# rounds of a feed: chain (\d{1,15}), feed (0x[0-9a-f]{40}), decimals (\d{1,2})\r?\n/

/** The first line of such a file, a comment to whoever else reads it. */
export function headText({ chainId, feed, decimals }: FileHead): string {
  return `# rounds of a feed: chain ${chainId}, feed ${feed}, decimals ${decimals}\n`
}

/** Longer than any first line that `headText` writes. */
export const HEAD_BYTES_MAX = 160

/** What a file says that begins with these bytes; undefined where it says nothing of the kind. */
export function headOf({ bytes }: { readonly bytes: Buffer }): FileHead | undefined {
  const match = HEAD.exec(bytes.toString('latin1', 0, HEAD_BYTES_MAX))
  const feed = parseAddress(match?.[2] ?? '')
  if (match === null || feed === undefined) return undefined
  return { chainId: Number(match[1]), feed, decimals: Number(match[3]) }
}
