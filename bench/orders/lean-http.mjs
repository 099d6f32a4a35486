import { createServer } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')
const STATUS_TEXT = { 200: 'OK', 201: 'Created', 400: 'Bad Request', 404: 'Not Found' }

/**
 * HTTP/1.1 with keep-alive over bare sockets, so that the server costs a fraction of its clients. Understands the
 * requests of undici, fetch and viem to a loopback port: a request line, content-length, a body. `handle` answers `{
 * status, body, headers? }`, the headers as ready lines.
 */
export function startLeanServer(handle) {
  const server = createServer((socket) => {
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    let pending = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
      for (;;) {
        const request = takeRequest(pending)
        if (request === undefined) return
        pending = pending.subarray(request.bytes)
        socket.write(respond(handle(request)))
      }
    })
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`))
  })
}

function takeRequest(buffer) {
  const headEnd = buffer.indexOf(HEAD_END)
  if (headEnd < 0) return undefined
  const head = buffer.latin1Slice(0, headEnd)
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  const bytes = headEnd + HEAD_END.length + length
  if (buffer.length < bytes) return undefined
  const [method, path] = head.slice(0, head.indexOf('\r\n')).split(' ')
  return { method, path, body: buffer.utf8Slice(headEnd + HEAD_END.length, bytes), bytes }
}

let dateLine = ''
let dateSecond = 0

function respond({ status, body, headers = '' }) {
  const second = Math.floor(Date.now() / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateLine = `date: ${new Date(second * 1000).toUTCString()}\r\n`
  }
  const head = `HTTP/1.1 ${status} ${STATUS_TEXT[status]}\r\n${dateLine}content-type: application/json\r\n`
  return `${head}${headers}content-length: ${Buffer.byteLength(body)}\r\nconnection: keep-alive\r\n\r\n${body}`
}
