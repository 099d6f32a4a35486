import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { SandboxLog } from '../log.ts'
import { SandboxError } from '../sandbox-error.ts'

export type Anvil = Awaited<ReturnType<typeof startAnvil>>

type AnvilOptions = {
  readonly chainId: number
  /** Path or name of the binary; default: the optional npm package, then `anvil` on the PATH. */
  readonly bin?: string | undefined
  readonly port?: number | undefined
  readonly resumed?: ResumedState | undefined
  readonly log: SandboxLog
}

/** Fields that make a genesis hash unique. `timestamp` in Unix seconds, `baseFee` in wei. */
export type GenesisTerms = {
  readonly gasLimit: number
  readonly baseFee: number
  readonly timestamp: number
}

/**
 * The dump of a node, a JSON file, and the genesis of its chain. A node creates its own genesis even when it loads a dump.
 */
export type ResumedState = { readonly genesis: GenesisTerms; readonly stateFile: string }

const START_MS_MAX = 15_000
/** A node needs longer to read the dump of a long run. */
const RESUME_MS_MAX = 180_000
const STOP_MS_MAX = 2_000
const NOT_FOUND_EXIT_CODE = 127
const ACCOUNTS = 4

/**
 * The node outlives its parent, so a shell runs between them. The shell's standard input is a pipe that only the parent
 * holds. However the parent dies, the pipe closes, `cat` ends, and the shell kills the node.
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

/**
 * Starts a local EVM node that cannot outlive this process, and resolves once it listens. `pid` is the node's, not the
 * shell's.
 *
 * @throws {SandboxError} without a binary
 */
export async function startAnvil(options: AnvilOptions) {
  const bin = options.bin ?? packagedAnvil() ?? 'anvil'
  const child = spawn('sh', ['-c', WATCHDOG, 'sh', bin, ...anvilArguments(options)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // A separate process group: Ctrl-C in a terminal must reach only the daemon, which drains first.
    detached: true,
  })
  const exited = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null))
    child.once('exit', (code) => resolve(code))
  })
  // The watchdog may end before its pipe is closed.
  child.stdin.on('error', () => undefined)
  const stop = stopOnce(child, exited)
  try {
    const msMax = options.resumed === undefined ? START_MS_MAX : RESUME_MS_MAX
    const started = await listening(child, exited, { bin, msMax })
    options.log('evm.started', { chainId: options.chainId, ...started })
    void exited.then((code) => {
      // The watchdog's `cat` ends once this end closes.
      child.stdin.destroy()
      options.log('evm.exited', { chainId: options.chainId, code })
    })
    return {
      ...started,
      /** Resolves with the exit code when the node has ended; for a signal, 128 plus its number. */
      ended: exited,
      stop: (): Promise<void> => stop(started.pid),
    }
  } catch (error) {
    await stop(undefined)
    throw error
  }
}

function anvilArguments(options: AnvilOptions): string[] {
  const { resumed } = options
  // The daemon identifies a chain by its genesis hash. Accounts do not change the hash, so these two values make it unique.
  const { gasLimit, baseFee } = resumed?.genesis ?? {
    gasLimit: 1_000_000_000 + randomInt(2 ** 30),
    baseFee: 1_000_000_000 + randomInt(2 ** 28),
  }
  return [
    ...['--host', '127.0.0.1', '--port', String(options.port ?? 0)],
    ...['--chain-id', String(options.chainId), '--hardfork', 'prague'],
    // Fresh accounts, because the keys of the default ones are public.
    ...['--accounts', String(ACCOUNTS), '--mnemonic-random', '12'],
    ...['--gas-limit', String(gasLimit), '--base-fee', String(baseFee)],
    // A resumed node keeps its own genesis as well as the loaded one, and dumps both, so they must be equal.
    ...(resumed === undefined
      ? []
      : ['--timestamp', String(resumed.genesis.timestamp), '--load-state', resumed.stateFile]),
    // The node mines transactions at once. Blocks have the wall clock's second, and several may share one. With
    // `--block-time` the node would ignore these limits and keep the states of 1,500 blocks: gigabytes in an hour.
    ...['--prune-history', '128', '--transaction-block-keeper', '100000'],
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
    // The package is optional and exists for one platform only.
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

function startError(bin: string, code: number | null, errors: string): Error {
  if (code !== NOT_FOUND_EXIT_CODE && code !== null)
    return new Error(`the EVM node ${bin} ended with code ${code} while starting: ${errors.trim()}`)
  return new SandboxError(
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
    // The node ended between the timer and this call.
  }
}
