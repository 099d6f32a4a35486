import type { Settings } from '../../domain/settings.ts'

/** How a run came to its end: what was left was followed to it, or nothing could be begun in the time that was given. */
export type Ended = 'drained' | { readonly reasons: readonly string[] }

/** What a run says whose time was over before it knew its chain: no node could be read, or the time was too short. */
export function neverBegan({ file, gasless }: Settings, reasons: readonly string[]): string {
  if (reasons.length === 0)
    return 'the time of --for was over before the run had begun, and nothing was done: give it longer'
  return (
    `the time of --for is over, and nothing was begun: no node of chain ${gasless.chain} could be read (${reasons.join('; ')}). ` +
    `Start what serves chains.${gasless.chain}.rpcUrls of ${file}, for a sandbox's config the sandbox, or correct them`
  )
}

/** Why a run ends whose time is over. */
export function causeOf(forMs: number | undefined): string {
  return `--for ${Math.round((forMs ?? 0) / 1000)}s`
}
