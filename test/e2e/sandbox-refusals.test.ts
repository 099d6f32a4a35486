import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { run } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'

/** A port that this test holds. */
async function takenPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

describe('the sandbox refuses to start, with a remedy,', () => {
  const inside = async (args: readonly string[], files: Readonly<Record<string, string>> = {}) => {
    const dir = temporaryDirectory()
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text)
    return { dir, ended: await run(['sandbox', ...args], { cwd: dir }) }
  }

  test('with 78 for a settings file that has a typo or is missing', async () => {
    const files = { 'own.yaml': 'gasless:\n  quotelifetime: 60s\n' }
    const { ended } = await inside(['--settings', 'own.yaml', '--seed', '3'], files)
    expect([ended.code, ended.stdout]).toEqual([78, ''])
    expect(ended.stderr).toContain('own.yaml:2:3 gasless.quotelifetime: unknown key')
    expect(ended.stderr).toContain('did you mean `quoteLifetime`?')
    const missing = (await inside(['--settings', 'nowhere.yaml', '--json'])).ended
    expect(missing.code).toBe(78)
    expect(JSON.parse(missing.stdout)).toMatchObject({
      ok: false,
      problems: [{ file: 'nowhere.yaml', message: 'there is no such file' }],
    })
    const faults = { 'faults.yaml': 'rules: [{ kind: slowly }]\n' }
    const wrong = (await inside(['--faults', 'faults.yaml'], faults)).ended
    expect([wrong.code, wrong.stderr]).toEqual([
      78,
      expect.stringMatching(/faults\.yaml:1:17 rules\[0\]\.kind: there is no such fault/),
    ])
  })

  test('with 2 for a wrong flag', async () => {
    for (const [args, message] of [
      [['--gasless-port', '70000'], /flag --gasless-port ports\.gasless: .*out of range/],
      [['--quote-lifetime', 'soon'], /flag --quote-lifetime [\s\S]*expected: a duration/],
      [['--http-port', '70000'], /flag --http-port: not a port\n {2}expected: .*0 to 65535/],
      [['--for', '3x'], /flag --for: not a duration\n {2}expected: a duration such as 30s/],
      [['--for'], /flag --for: its value is missing\n {2}expected: --for <duration>/],
      [
        ['--aggregator-domian', 'account'],
        /flag --aggregator-domian: unknown flag\n {2}did you mean `--aggregator-domain`/,
      ],
    ] as const) {
      const { ended } = await inside(args)
      expect([args, ended.code, ended.stderr]).toEqual([args, 2, expect.stringMatching(message)])
    }
  })

  test('with 1 for ports in use, each with the service that needs it', async () => {
    const [port, other] = [await takenPort(), await takenPort()]
    const flags = ['--gasless-port', `${port}`, '--aggregator-rpc-port', `${other}`]
    const { ended } = await inside(flags)
    expect([ended.code, ended.stdout]).toEqual([1, ''])
    expect(ended.stderr).toContain(`port ${port} is in use: ports.gasless (--gasless-port) wanted`)
    expect(ended.stderr).toContain(
      `port ${other} is in use: ports.aggregatorRpc (--aggregator-rpc-port)`,
    )
  })

  test('with 1 where --config-out would overwrite a file, which stays; --force overwrites it', async () => {
    const files = { 'live.yaml': '# mine\n' }
    const { dir, ended } = await inside(['--config-out', 'live.yaml'], files)
    expect([ended.code, ended.stdout]).toEqual([1, ''])
    expect(ended.stderr).toContain(`${join(dir, 'live.yaml')} is there already`)
    expect(ended.stderr).toContain('--force')
    expect(readFileSync(join(dir, 'live.yaml'), 'utf8')).toBe('# mine\n')
    const forced = await run(['sandbox', '--config-out', 'live.yaml', '--force', '--for', '1ms'], {
      cwd: dir,
    })
    expect([forced.code, forced.stderr]).toEqual([0, ''])
    expect(forced.stdout).toMatch(/The sandbox has ended; its chains and accounts are gone\.\n$/)
    expect(parse(readFileSync(join(dir, 'live.yaml'), 'utf8')).mode).toBe('live')
  })
})
