import { basename, dirname, extname, join, relative, sep } from 'node:path'
import type { WalletSource } from '../../domain/settings.ts'
import type { Fault } from '../yaml/document.ts'
import type { TradingInput } from './settings-schema.ts'

type Places = {
  /** The config file. All paths are absolute. */
  readonly file: string
  readonly stateDir: string
  readonly wallets: ReadonlyMap<string, WalletSource>
  readonly absolute: (path: string) => string
  readonly report: (fault: Fault) => void
}

/**
 * The anchor file of each wallet. `stateAnchor` is the trading wallet's; a second wallet's lies beside it, named after the
 * wallet. Without `stateAnchor`, each lies beside its wallet's key, or beside the config if the key is not in a file.
 */
export function anchorsOf(input: TradingInput, places: Places): ReadonlyMap<string, string> {
  const { stateAnchor, gasless, aggregator } = input
  const trading = stateAnchor === undefined ? undefined : places.absolute(stateAnchor)
  const anchors = new Map<string, string>()
  for (const wallet of new Set([gasless.wallet, aggregator?.wallet ?? gasless.wallet])) {
    const named = trading && join(dirname(trading), `${wallet}.anchor`)
    const own = wallet === gasless.wallet ? trading : named
    anchors.set(wallet, own ?? besideKey(wallet, places))
  }
  // Only a live daemon writes anchors.
  if (input.mode === 'live') checkAnchors(anchors, places)
  return anchors
}

function besideKey(wallet: string, { wallets, file }: Places): string {
  const key = keyFileOf(wallets.get(wallet))
  if (key === undefined) return join(dirname(file), `${wallet}.anchor`)
  return join(dirname(key), `${basename(key, extname(key))}.anchor`)
}

function keyFileOf(source: WalletSource | undefined): string | undefined {
  if (source?.type === 'keystore') return source.keystore
  return source?.type === 'privateKeyFile' ? source.file : undefined
}

function checkAnchors(anchors: ReadonlyMap<string, string>, places: Places): void {
  const { stateDir, wallets, report } = places
  const path = ['stateAnchor']
  const files = [...anchors.values()]
  const keys = [...anchors.keys()].map((wallet) => keyFileOf(wallets.get(wallet)) ?? wallet)
  const taken = [...wallets.values()].flatMap((source) => keyFileOf(source) ?? [])
  for (const [wallet, file] of anchors) {
    const problem = (message: string, expected: string): void =>
      report({ path, message: `the anchor of ${wallet} is ${file}: ${message}`, expected })
    if (isInside(stateDir, file))
      problem(
        'it is in the state directory, and would go back together with it',
        'a file elsewhere, on another volume where there is one',
      )
    if (taken.includes(file)) problem('this is a key', 'a file of its own')
    // A key shared by both wallets is reported separately.
    if (files.indexOf(file) !== files.lastIndexOf(file) && new Set(keys).size > 1)
      problem('another wallet has the same', 'a name that is not that of another wallet')
  }
}

function isInside(dir: string, file: string): boolean {
  return relative(dir, file).split(sep)[0] !== '..'
}
