import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterEach, expect, test } from 'vitest'
import { HOSTILE, MESSAGE } from '../../../support/notify/messages.ts'
import { openReceiver } from '../../../support/notify/open-receiver.ts'

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

type Mail = { readonly from: string; readonly to: readonly string[]; readonly raw: string }

/** A mail server on loopback that keeps its mails. */
async function mailServer(options: SMTPServerOptions = {}) {
  const mails: Mail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    ...options,
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        const from = mailFrom === false ? '' : (mailFrom?.address ?? '')
        mails.push({
          from,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString(),
        })
        done()
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const { port } = server.server.address() as AddressInfo
  return { mails, port }
}

async function channelTo(smtp: string, extra: object = {}, timeoutMs = 60_000) {
  const settings = {
    smtp,
    from: 'bot@example.com',
    to: ['me@example.com', 'you@example.com'],
    ...extra,
  }
  const channel = await openReceiver('email', settings, { clock: { now: Date.now }, timeoutMs })
  opened.push(channel.close)
  return channel
}

const unending = new AbortController().signal

test('a mail goes to every recipient, as plain text with its own subject', async () => {
  const { mails, port } = await mailServer()
  const channel = await channelTo(`smtp://127.0.0.1:${port}`)
  expect(await channel.deliver(MESSAGE, unending)).toEqual({ ok: true })
  const [mail] = mails
  expect(mail).toMatchObject({ from: 'bot@example.com', to: ['me@example.com', 'you@example.com'] })
  const head = mail?.raw.split('\r\n\r\n')[0] ?? ''
  expect(head).toContain('Subject: weekly-eth traded 25 USDC for 0.00998 WETH')
  expect(head).toContain('From: tranched <bot@example.com>')
  expect(head).toContain(`Message-ID: <${MESSAGE.id}@example.com>`)
  expect(head).toContain('Content-Type: text/plain; charset=utf-8')
  expect(head).toContain('Auto-Submitted: auto-generated')
  const body = (mail?.raw.split('\r\n\r\n')[1] ?? '').replaceAll('=\r\n', '')
  expect(body).toContain('The full timeline: `tranched why weekly-eth:1767600000`')
  expect(body).toContain('Mon 5 Jan, 08:00 (UTC)')
})

test('message text never becomes a header or a recipient', async () => {
  const { mails, port } = await mailServer()
  const channel = await channelTo(`smtp://127.0.0.1:${port}`)
  const evil = 'x\r\nBcc: thief@evil.example\r\n\r\nbody\u2028X-Evil: 1\u0000'
  const message = {
    ...HOSTILE,
    id: `7-over-${evil}`,
    subject: evil,
    lines: ['.', 'RCPT TO:<thief@evil.example>', evil],
  }
  expect(await channel.deliver(message, unending)).toEqual({ ok: true })
  expect(mails[0]?.to).toEqual(['me@example.com', 'you@example.com'])
  const head = mails[0]?.raw.split('\r\n\r\n')[0] ?? ''
  const names = head
    .replaceAll(/\r\n[ \t]/g, '')
    .split('\r\n')
    .map((line) => line.split(':')[0])
  expect(names).not.toContain('Bcc')
  expect(names).not.toContain('X-Evil')
  expect(mails).toHaveLength(1)
})

test('the login is decoded from the address, and a rejected login is final', async () => {
  const logins: (string | undefined)[] = []
  const { mails, port } = await mailServer({
    authOptional: false,
    onAuth({ username, password }, _session, done) {
      logins.push(`${username} ${password}`)
      if (password === 'p@ss/word') done(null, { user: 'me' })
      else done(new Error('CANARY refused'))
    },
  })
  const right = await channelTo(`smtp://me%40example.com:p%40ss%2Fword@127.0.0.1:${port}`)
  expect(await right.deliver(MESSAGE, unending)).toEqual({ ok: true })
  expect(mails).toHaveLength(1)
  const wrong = await channelTo(`smtp://me:CANARY-CANARY@127.0.0.1:${port}`)
  const failed = await wrong.deliver(MESSAGE, unending)
  expect(failed).toMatchObject({ ok: false, final: true, answered: true, fault: 'EAUTH, SMTP 535' })
  expect(JSON.stringify(failed)).not.toContain('CANARY')
  expect(failed).toMatchObject({ remedy: expect.stringContaining('password') })
  expect(logins).toEqual(['me@example.com p@ss/word', 'me CANARY-CANARY'])
})

test.each([
  [450, false],
  [550, true],
])('a recipient refused with %s is final: %s', async (responseCode, final) => {
  const { port } = await mailServer({
    onRcptTo: (_address, _session, done) => done(Object.assign(new Error('no'), { responseCode })),
  })
  const failed = await (await channelTo(`smtp://127.0.0.1:${port}`)).deliver(MESSAGE, unending)
  expect(failed).toMatchObject({ ok: false, final, answered: true })
})

test('a remote server without TLS gets neither login nor mail, and is retried', async () => {
  const { mails, port } = await mailServer()
  // An address that reaches this machine, but is not one of its names.
  const failed = await (await channelTo(`smtp://me:secret@0.0.0.0:${port}`)).deliver(
    MESSAGE,
    unending,
  )
  expect(failed).toMatchObject({ ok: false, final: false, fault: expect.stringContaining('ETLS') })
  expect(mails).toEqual([])
})

test('an untrusted certificate ends the connection before login and mail', async () => {
  const logins: unknown[] = []
  const { mails, port } = await mailServer({
    secure: true,
    onAuth(auth, _session, done) {
      logins.push(auth)
      done(null, { user: 'me' })
    },
  })
  const failed = await (await channelTo(`smtps://me:secret@127.0.0.1:${port}`)).deliver(
    MESSAGE,
    unending,
  )
  expect(failed).toMatchObject({ ok: false, final: false })
  expect([...mails, ...logins]).toEqual([])
})

test.each([
  ['is silent', () => undefined],
  ['hangs up', (socket: Socket) => socket.destroy()],
  ['greets without end', (socket: Socket) => void socket.write('220-'.repeat(100_000))],
])('a server that %s delays no delivery beyond its time limit', async (_, greet) => {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined)
    greet(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const { port } = server.address() as AddressInfo
  const failed = await (await channelTo(`smtp://127.0.0.1:${port}`, {}, 400)).deliver(
    MESSAGE,
    unending,
  )
  expect(failed).toMatchObject({ ok: false, final: false, answered: false })
})

test('a refused connection is retried, and its fault names no address', async () => {
  const failed = await (await channelTo('smtp://me:CANARY-CANARY@127.0.0.1:1')).deliver(
    MESSAGE,
    unending,
  )
  expect(failed).toMatchObject({ ok: false, final: false, answered: false })
  expect(JSON.stringify(failed)).not.toMatch(/CANARY|127\.0/)
})
