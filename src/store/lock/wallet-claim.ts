import { createHash } from 'node:crypto'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StateLockedError } from '../../domain/errors.ts'
import { outsideText } from '../../domain/outside-text.ts'
import type { Address } from '../../domain/units.ts'
import type { LockHolder } from './lock-claims.ts'
import { acquireLock } from './state-lock.ts'

export type ClaimedWallet = { readonly chainId: number; readonly wallet: Address }

/** What whoever finds the wallet claimed is told; every user of the machine may ask. */
export type WalletHolder = LockHolder & { readonly stateDir: string }

export type WalletClaim = { release(): void }

const ANSWER_MS_MAX = 1_000
const ANSWER_LENGTH_MAX = 4_096
const CONNECTIONS_MAX = 16
/** The last moment that a Date has. */
const TIME_MS_MAX = 8_640_000_000_000_000
const TRY_AGAIN_MS = 5_000

/**
 * One process of a machine signs for a wallet on a chain, whatever state directory, anchor and copy of the key it works with
 * (rule T5). The claim is a socket in Linux's abstract namespace (unix(7)): no file, so that it ends with its process however that
 * dies, and is the same for every user. Containers with a network of their own do not see it. Elsewhere it is a lock among this
 * user's temporary files.
 *
 * `overtook`: the state directory was taken over from a process that was stopped and may still be there. Where the claim's holder
 * gives no answer it is that one, and the claim is taken once it is gone. Throws StateLockedError naming the holder.
 */
export async function claimWallet(
  claimed: ClaimedWallet,
  holder: WalletHolder,
  { overtook }: { readonly overtook: boolean },
): Promise<WalletClaim> {
  const name = nameOf(claimed)
  if (process.platform !== 'linux') return acquireLock(join(tmpdir(), name), holder)
  const server = await listen(name, holder)
  if (server !== undefined) return { release: () => server.close() }
  const other = await ask(name)
  if (other !== undefined || !overtook) throw new StateLockedError(describe(claimed, other))
  return claimLater(name, holder)
}

function claimLater(name: string, holder: WalletHolder): WalletClaim {
  let server: Server | undefined
  const timer = setInterval(() => {
    void listen(name, holder).then((listening) => {
      server = listening
      if (server !== undefined) clearInterval(timer)
    })
  }, TRY_AGAIN_MS).unref()
  return {
    release() {
      clearInterval(timer)
      server?.close()
    },
  }
}

/** Not the address itself: every user can list the names of sockets. */
function nameOf({ chainId, wallet }: ClaimedWallet): string {
  const digest = createHash('sha256').update(`${chainId}:${wallet}`).digest('hex')
  return `tranched-wallet-${digest.slice(0, 40)}`
}

/** Undefined where somebody listens under that name. Rejects where the system does not let anybody. */
function listen(name: string, holder: WalletHolder): Promise<Server | undefined> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.end(`${JSON.stringify(holder)}\n`)
  })
  server.maxConnections = CONNECTIONS_MAX
  return new Promise((resolve, reject) => {
    server.on('error', (error) => {
      if ('code' in error && error.code === 'EADDRINUSE') resolve(undefined)
      else reject(error)
    })
    // Of its own also where a supervisor shares listeners among its processes.
    server.listen({ path: `\0${name}`, exclusive: true }, () => resolve(server.unref()))
  })
}

/** Who claims a wallet; undefined where nobody says so. */
function ask(name: string): Promise<WalletHolder | undefined> {
  return new Promise((resolve) => {
    const socket = connect(`\0${name}`)
    let text = ''
    socket.setEncoding('utf8').setTimeout(ANSWER_MS_MAX, () => socket.destroy())
    socket.on('data', (chunk) => {
      text += chunk
      if (text.length > ANSWER_LENGTH_MAX) socket.destroy()
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(holderIn(text)))
  })
}

/** Anybody may listen under that name, and what is said goes to terminals. */
function holderIn(text: string): WalletHolder | undefined {
  try {
    const { pid, command, startedAtMs, stateDir }: Partial<WalletHolder> = JSON.parse(text)
    if (!Number.isSafeInteger(pid) || !Number.isSafeInteger(startedAtMs)) return undefined
    return {
      pid: Number(pid),
      command: outsideText(String(command)),
      startedAtMs: Number(startedAtMs),
      stateDir: outsideText(String(stateDir)),
    }
  } catch {
    return undefined
  }
}

function describe({ chainId, wallet }: ClaimedWallet, other: WalletHolder | undefined): string {
  const what = `wallet ${wallet} on chain ${chainId}`
  const why = 'Two processes would each spend its caps. Stop that one, or use another wallet here'
  if (other === undefined)
    return `${what}: claimed by a process of this machine that does not say which it is; \`tranched ps\` lists daemons. ${why}`
  const { pid, command, startedAtMs, stateDir } = other
  const since = new Date(Math.min(startedAtMs, TIME_MS_MAX)).toISOString()
  return `${what}: in use by process ${pid} since ${since} (${command}), with its state in ${stateDir}. ${why}`
}
