import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { OperatorError } from '../../domain/errors.ts'
import type { SandboxLog } from '../log.ts'

/** A local EVM node in a child process that cannot outlive this one. */
export type Anvil = {
  readonly rpcUrl: string
  /** Process id of the node itself, not of the shell that watches over it. */
  readonly pid: number
  /** Resolves with an exit code once it has ended, by `stop` or by itself: 128 and the number of a signal that killed it. */
  readonly ended: Promise<number | null>
  /** Ends the node and waits for it; later calls return the same promise. */
  stop(): Promise<void>
}

export type AnvilOptions = {
  readonly chainId: number
  /** Path or name of the binary; default: the optional npm package, then `anvil` on the PATH. */
  readonly bin?: string | undefined
  readonly port?: number | undefined
  /** Goes on with a chain of before, instead of beginning one. */
  readonly resumed?: ResumedState | undefined
  readonly log: SandboxLog
}

/** What the hash of a genesis block depends on. `timestamp` in Unix seconds, `baseFee` in wei. */
export type GenesisTerms = {
  readonly gasLimit: number
  readonly baseFee: number
  readonly timestamp: number
}

/** A node's own dump, a JSON file, and the genesis of its chain: the node makes that itself, even where it loads one. */
export type ResumedState = { readonly genesis: GenesisTerms; readonly stateFile: string }

const START_MS_MAX = 15_000
/** A dump of hours takes its time to be read. */
const RESUME_MS_MAX = 180_000
const STOP_MS_MAX = 2_000
const NOT_FOUND_EXIT_CODE = 127
const ACCOUNTS = 4

/**
 * The node ignores the death of its parent. So a shell stands between them whose standard input is a pipe
 * that only the parent holds: however the parent dies, the pipe closes, `cat` ends, and the node is ended.
 */
const WATCHDOG = `
exec 3<&0
"$@" </dev/null 3<&- &
node=$!
echo "pid $node"
{ cat <&3; kill -TERM $node; sleep 1; kill -KILL $node; } >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait $node
code=$?
kill $watch 2>/dev/null
exit $code
`

/** Starts a node and resolves once it listens. Throws with a remedy if there is no binary. */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  const bin = options.bin ?? packagedAnvil() ?? 'anvil'
  const child = spawn('sh', ['-c', WATCHDOG, 'sh', bin, ...anvilArguments(options)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Its own process group: Ctrl-C in a terminal must reach the daemon alone, which drains first.
    detached: true,
  })
  const exited = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null))
    child.once('exit', (code) => resolve(code))
  })
  // The watchdog may be gone already when its pipe is closed.
  child.stdin.on('error', () => undefined)
  const stop = stopOnce(child, exited)
  try {
    const msMax = options.resumed === undefined ? START_MS_MAX : RESUME_MS_MAX
    const started = await listening(child, exited, { bin, msMax })
    options.log('evm.started', { chainId: options.chainId, ...started })
    void exited.then((code) => {
      // The watchdog's reader holds the other end until this one closes.
      child.stdin.destroy()
      options.log('evm.exited', { chainId: options.chainId, code })
    })
    return { ...started, ended: exited, stop: () => stop(started.pid) }
  } catch (error) {
    await stop(undefined)
    throw error
  }
}

function anvilArguments(options: AnvilOptions): string[] {
  const { resumed } = options
  // The genesis state root does not depend on the accounts. These make the genesis hash unique, and the daemon tells one
  // sandbox chain from another by that hash.
  const { gasLimit, baseFee } = resumed?.genesis ?? {
    gasLimit: 1_000_000_000 + randomInt(2 ** 30),
    baseFee: 1_000_000_000 + randomInt(2 ** 28),
  }
  return [
    ...['--host', '127.0.0.1', '--port', String(options.port ?? 0)],
    ...['--chain-id', String(options.chainId), '--hardfork', 'prague'],
    // Fresh accounts each time: nobody can mistake a chain for one whose keys are in every tutorial.
    ...['--accounts', String(ACCOUNTS), '--mnemonic-random', '12'],
    ...['--gas-limit', String(gasLimit), '--base-fee', String(baseFee)],
    // A node that loads a chain keeps the genesis that it made beside the loaded one, and its next dump would hold both: only
    // where they are the same is the chain told by one hash for ever.
    ...(resumed === undefined
      ? []
      : ['--timestamp', String(resumed.genesis.timestamp), '--load-state', resumed.stateFile]),
    // A transaction is mined at once. Blocks carry the wall clock's second, several may share one, and none runs ahead.
    // With `--block-time` the node would keep the states of 1,500 blocks, whatever is said here: gigabytes in an hour.
    ...['--prune-history', '32', '--transaction-block-keeper', '100000'],
  ]
}

function packagedAnvil(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve(
      '@foundry-rs/anvil-linux-amd64/package.json',
    )
    const bin = join(dirname(manifest), 'bin', 'anvil')
    return existsSync(bin) ? bin : undefined
  } catch {
    // The package is optional and exists for one platform only: its absence is an ordinary case.
    return undefined
  }
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>

function listening(
  child: Child,
  exited: Promise<number | null>,
  { bin, msMax }: { readonly bin: string; readonly msMax: number },
): Promise<{ rpcUrl: string; pid: number }> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`the EVM node did not listen within ${msMax / 1000} s`)),
      msMax,
    )
    let output = ''
    let errors = ''
    const onOutput = (chunk: Buffer): void => {
      output += chunk.toString('latin1')
      const address = /Listening on (127\.0\.0\.1:\d+)/.exec(output)?.[1]
      const pid = /^pid (\d+)/m.exec(output)?.[1]
      if (address === undefined || pid === undefined) return
      clearTimeout(timer)
      child.stdout.off('data', onOutput)
      // An undrained pipe would block the node after 64 KiB of log.
      child.stdout.resume()
      resolve({ rpcUrl: `http://${address}`, pid: Number.parseInt(pid, 10) })
    }
    child.stdout.on('data', onOutput)
    child.stderr.on('data', (chunk: Buffer) => {
      errors = `${errors}${chunk.toString('latin1')}`.slice(-2_000)
    })
    void exited.then((code) => {
      clearTimeout(timer)
      reject(startError(bin, code, errors))
    })
  })
}

/** There is no local EVM node to run the sandbox on. */
class NoEvmNodeError extends OperatorError {
  override readonly name = 'NoEvmNodeError'
  readonly means = 'failed'
}

function startError(bin: string, code: number | null, errors: string): Error {
  if (code !== NOT_FOUND_EXIT_CODE && code !== null)
    return new Error(`the EVM node ${bin} ended with code ${code} while starting: ${errors.trim()}`)
  return new NoEvmNodeError(
    `no EVM node: cannot run ${bin}. On Linux x64 run npm install with optional dependencies; ` +
      'elsewhere install Foundry (https://getfoundry.sh) and put anvil on the PATH, or give its path in ANVIL_BIN',
  )
}

function stopOnce(
  child: Child,
  exited: Promise<number | null>,
): (pid: number | undefined) => Promise<void> {
  let stopping: Promise<void> | undefined
  const stop = async (pid: number | undefined): Promise<void> => {
    child.stdin.destroy()
    const timer = setTimeout(() => {
      if (pid !== undefined) killQuietly(pid)
      child.kill('SIGKILL')
    }, STOP_MS_MAX)
    await exited
    clearTimeout(timer)
    child.stdout.destroy()
    child.stderr.destroy()
  }
  return (pid) => {
    stopping ??= stop(pid)
    return stopping
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended on its own between the timer and here.
  }
}
