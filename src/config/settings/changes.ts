import { formatAmount } from '../../domain/money/units.ts'
import type { AccountLimits, Settings } from '../../domain/settings.ts'

/** Changes of a config, key by key. */
type SettingsChanges = {
  /** Changes under `limits` as text. A running daemon applies them. */
  readonly limits: readonly string[]
  /** Other changed keys, without values, because a URL may contain a token. They need a restart. */
  readonly others: readonly string[]
}

/** Values of a tree as text, by path. */
export type Flat = ReadonlyMap<string, string>

/** Compares the settings in force with those now in the files. */
export function settingsChanges(before: Settings, after: Settings): SettingsChanges {
  return {
    limits: changesIn(limitsOf(before), limitsOf(after)).map(({ text }) => text),
    others: changesIn(othersOf(before), othersOf(after)).map(({ path }) => path),
  }
}

/** Each path whose value changed, with a text for the log. */
export function changesIn(before: Flat, after: Flat) {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => {
      const [from, to] = [before, after].map((flat) => flat.get(path) ?? '(none)')
      return { path, text: `${path} ${from} -> ${to}` }
    })
}

function othersOf({ limits: _, ...others }: Settings): Flat {
  return flattened(others)
}

/** Amounts as in the file: decimal, by token symbol. */
function limitsOf({ limits, tokens }: Settings): Flat {
  const known = new Map([...tokens.values()].map((token) => [token.address, token]))
  const named = (caps: AccountLimits['perDay']): ReadonlyMap<string, string> =>
    new Map(
      [...caps].map(([address, amount]) => {
        const { symbol = address, decimals = 0 } = known.get(address) ?? {}
        return [symbol, formatAmount(amount, decimals)]
      }),
    )
  const { perOrder, perHour, perDay, perWeek, total, ...rest } = limits
  const caps = { perOrder, perHour, perDay, perWeek, total }
  const readable = Object.entries(caps).map(([name, each]) => [name, named(each)] as const)
  return flattened({ ...rest, ...Object.fromEntries(readable) }, 'limits')
}

export function flattened(value: unknown, path = ''): Map<string, string> {
  const flat = new Map<string, string>()
  const visit = (at: unknown, here: string): void => {
    if (at === undefined || at === null) return
    if (typeof at !== 'object') {
      flat.set(here, String(at))
      return
    }
    const entries = at instanceof Map ? [...at] : Object.entries(at)
    for (const [name, inner] of entries) visit(inner, here === '' ? `${name}` : `${here}.${name}`)
  }
  visit(value, path)
  return flat
}
