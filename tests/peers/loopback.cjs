// Loaded first (node --require): a server that names no address, or all of them, listens on
// 127.0.0.1 alone. It listens at once, as without this: some ask for their port in the same breath.
const { Server } = require('node:net');

const listen = Server.prototype._listen2;
const EVERYWHERE = [null, undefined, '::', '0.0.0.0'];

Server.prototype._listen2 = function (address, port, family, ...rest) {
  const isTcp = port !== null && port >= 0;
  return isTcp && EVERYWHERE.includes(address)
    ? listen.call(this, '127.0.0.1', port, 4, ...rest)
    : listen.call(this, address, port, family, ...rest);
};
