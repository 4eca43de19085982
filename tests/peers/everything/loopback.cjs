// Loaded first (node --require): a server that names no address listens on 127.0.0.1 alone.
const { Server } = require('node:net');

const listen = Server.prototype.listen;

Server.prototype.listen = function (port, ...rest) {
  const namesOnlyAPort = /^\d+$/.test(String(port)) && typeof rest[0] !== 'string';
  return namesOnlyAPort ? listen.call(this, Number(port), '127.0.0.1', ...rest) : listen.call(this, port, ...rest);
};
