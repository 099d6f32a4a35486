import type { WalletFault } from './keystore.ts'

/**
 * Node flags that expose memory or environment, which may hold a key, to a debugger, heap snapshot, report or core dump.
 * Flags that load code are omitted: only the operator can set them, and gains nothing from it.
 */
const REVEALING =
  /^--(?:inspect|debug-port|experimental-network-inspection|heapsnapshot-|report-on-|report-uncaught-exception|abort-on-uncaught-exception)/

/** Reason not to read a key into this process; undefined if its memory is private. */
export async function exposure(
  env: Readonly<Record<string, string | undefined>>,
): Promise<WalletFault | undefined> {
  const inherited = (env['NODE_OPTIONS'] ?? '')
    .split(/\s+/)
    .map((word) => word.replace(/["\\]/g, ''))
  const flag = [...inherited, ...process.execArgv].map(dashed).find((each) => REVEALING.test(each))
  if (flag !== undefined) {
    const from = inherited.map(dashed).includes(flag) ? 'NODE_OPTIONS' : 'the command line of node'
    return refused(`${from} has ${flag}`, `take ${flag} out of ${from}, and start again`)
  }
  // A signal may have opened it before the program's first statement, and preloaded code at any time.
  if (!process.features.inspector || (await import('node:inspector')).url() === undefined)
    return undefined
  return refused('the debugger of Node is open', 'start again without a debugger')
}

/** Node treats `_` and `-` alike, and a flag with its value as one word. */
function dashed(word: string): string {
  return word.replace(/=.*/s, '').replaceAll('_', '-')
}

function refused(what: string, remedy: string): WalletFault {
  return {
    ok: false,
    message: `${what}: others could read a key in the memory of this process`,
    remedy,
  }
}
