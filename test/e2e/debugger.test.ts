import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { run, start } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'
import { everySecond, type StrategyFiles, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()
const LISTENING = '0A'

/** Ports that a process listens on, from the kernel's tables. */
function portsOf(pid: number): readonly string[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
      } catch {
        return []
      }
    }),
  )
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === LISTENING && sockets.has(fields[9] ?? ''))
      .map(([, address = '']) => address),
  )
}

/** The process of the daemon's only module. */
function moduleOf(daemon: { readonly pid: number }): number {
  const found = readdirSync('/proc').find((pid) => {
    try {
      const [, ppid] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return Number(ppid) === daemon.pid && command.includes('module-runner.mjs')
    } catch {
      return false
    }
  })
  if (found === undefined) throw new Error('the daemon runs no module')
  return Number(found)
}

function counting(): StrategyFiles {
  const module = join(temporaryDirectory(), 'count.mjs')
  const schema = 'export const schema = { safeParse: (data) => ({ success: true, data }) }'
  writeFileSync(
    module,
    `${schema}\nlet calls = 0\nexport const decide = () => ({ skip: 'called ' + (calls += 1) + ' times' })`,
  )
  const limits = { perDay: { USDC: '1', WETH: '1' } }
  const schedule = { cron: '* * * * * *' }
  const counts = { name: 'counts', kind: 'custom', schedule, module, tokens: ['USDC', 'WETH'] }
  return { counts: { ...counts, limits } }
}

test('SIGUSR1 opens no debugger in a daemon or its module process, and both go on', async () => {
  const rehearsal = await rehearse({ ...counting(), ...everySecond('fills') })
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled fills/)
  const [, counted] = await daemon.sees(/skipped counts[^\n]*called (\d+) times/)
  const module = moduleOf(daemon)
  const before = portsOf(daemon.pid)
  expect(before).toHaveLength(1)
  for (const pid of [daemon.pid, module]) {
    process.kill(pid, 'SIGUSR1')
    process.kill(pid, 'SIGUSR1')
  }
  // Both event loops have turned since: a debugger would be open by now.
  const status = await run(['status', '--config', rehearsal.config, '--json'])
  expect(JSON.parse(status.stdout)).toMatchObject({ answers: true })
  // The same process kept counting.
  await daemon.sees(new RegExp(`skipped counts[^\\n]*called ${Number(counted) + 2} times`))
  expect(portsOf(daemon.pid)).toEqual(before)
  expect(portsOf(module)).toEqual([])
  expect(daemon.output()).not.toMatch(/debugger|inspector/i)
  expect((await daemon.stop()).code).toBe(0)
})

test('SIGUSR1 opens no debugger in a command that has read a key', async () => {
  const rehearsal = await rehearse(everySecond('fills'))
  const requests: ServerResponse[] = []
  const service = createServer((_, response) => void requests.push(response)).listen(0, '127.0.0.1')
  onTestFinished(() => {
    service.closeAllConnections()
    service.close()
  })
  await once(service, 'listening')
  const { port } = service.address() as AddressInfo
  const settings = parse(readFileSync(rehearsal.config, 'utf8'))
  settings.aggregator.rpcUrl = `http://127.0.0.1:${port}`
  writeFileSync(rehearsal.config, stringify(settings))
  const command = start(['gastank', 'status', '--config', rehearsal.config])
  // It signs requests: the key is in its memory.
  await waitFor('a question', () => requests.length)
  command.signal('SIGUSR1')
  requests[0]?.writeHead(400).end('no')
  const ended = await command.ended()
  expect(ended.signal).toBeNull()
  expect(ended.stdout).toContain('failure')
  expect(ended.stderr).not.toMatch(/debugger|inspector/i)
})

test('a live daemon refuses to start with debugger flags, and a command then reads no key', async () => {
  const rehearsal = await rehearse(everySecond('fills'))
  const env = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }
  const refused = await rehearsal.daemon([], { env }).ended()
  expect(refused.code).toBe(78)
  expect(refused.stderr).toMatch(
    /live\.yaml:\d+:\d+ wallets\.trader[\s\S]*NODE_OPTIONS has --inspect: others could read a key/,
  )
  const signing = await run(
    ['approvals', 'revoke', '--all', '--yes', '--config', rehearsal.config],
    { env },
  )
  expect(signing.code).toBe(78)
  // Commands that need no key still work, above all the kill switch.
  expect((await run(['halt', '--config', rehearsal.config], { env })).code).toBe(0)
})
