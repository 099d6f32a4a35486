import { createHash } from 'node:crypto'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeOf, StateLockedError } from '../../domain/errors.ts'
import type { Address } from '../../domain/money/units.ts'
import { outsideText } from '../../domain/text/outside-text.ts'
import type { LockHolder } from './lock-claims.ts'
import { acquireLock } from './state-lock.ts'

type ClaimedWallet = { readonly chainId: number; readonly wallet: Address }

/** The answer to a process that finds the wallet claimed; visible to all users of the machine. */
type WalletHolder = LockHolder & { readonly stateDir: string }

export type WalletClaim = { release(): void }

const ANSWER_MS_MAX = 1_000
const ANSWER_LENGTH_MAX = 4_096
const CONNECTIONS_MAX = 16
/** The last moment of a Date. */
const TIME_MS_MAX = 8_640_000_000_000_000
const TRY_AGAIN_MS = 5_000

/**
 * Lets one process per machine sign for a wallet on a chain, across state directories, anchors and copies of the key (rule
 * T5). The claim is a socket in Linux's abstract namespace (unix(7)): it has no file, ends with its process and is shared by
 * all users, but not by containers with their own network. Other systems use a lock among this user's temporary files.
 *
 * `overtook`: the state directory was taken over from a suspended process that may still exist. A claim holder that does not
 * answer is taken for that process, and the claim is made once it is gone. Throws StateLockedError with the holder.
 */
export async function claimWallet(
  claimed: ClaimedWallet,
  holder: WalletHolder,
  { overtook }: { readonly overtook: boolean },
): Promise<WalletClaim> {
  // Hashed, because every user can list socket names.
  const account = `${claimed.chainId}:${claimed.wallet}`
  const name = `tranched-wallet-${createHash('sha256').update(account).digest('hex').slice(0, 40)}`
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

/** Undefined if the name is taken. Rejects if the system does not allow listening. */
function listen(name: string, holder: WalletHolder): Promise<Server | undefined> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.end(`${JSON.stringify(holder)}\n`)
  })
  server.maxConnections = CONNECTIONS_MAX
  return new Promise((resolve, reject) => {
    server.on('error', (error) => {
      if (codeOf(error) === 'EADDRINUSE') resolve(undefined)
      else reject(error)
    })
    // Exclusive even if a supervisor shares listeners among its processes.
    server.listen({ path: `\0${name}`, exclusive: true }, () => resolve(server.unref()))
  })
}

/** The holder of a wallet's claim; undefined without an answer. */
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

/** Validates the answer: any process may listen under that name, and the answer goes to terminals. */
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
