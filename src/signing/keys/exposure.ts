import type { WalletFault } from './keystore.ts'

/**
 * Flags by which Node shows its memory or its environment, where a key may be: to a debugger, in a heap snapshot, in a report, in
 * a core dump. Flags that load code are not here: whoever sets them is the operator, and needs none of these.
 */
const REVEALING =
  /^--(?:inspect|debug-port|experimental-network-inspection|heapsnapshot-|report-on-|report-uncaught-exception|abort-on-uncaught-exception)/

/** Why no key may be read into this process; undefined where its memory stays its own. */
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
  // A signal may have opened it before the program's first statement, and code that was preloaded at any time.
  if (!process.features.inspector || (await import('node:inspector')).url() === undefined)
    return undefined
  return refused('the debugger of Node is open', 'start again without a debugger')
}

/** Node takes both for the same, and a flag with its value for one word. */
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
