"""Django, JSON, with its check of CSRF tokens left on."""
import hashlib, json, os, sys
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse, HttpResponseForbidden
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

settings.configure(
    SECRET_KEY='x', ALLOWED_HOSTS=['*'], ROOT_URLCONF=__name__, MIDDLEWARE=['django.middleware.csrf.CsrfViewMiddleware']
)


def postback(request):
    fields = json.loads(request.body)
    text = f"{fields['OutSum']}:{fields['InvId']}:{os.environ['TOKEN']}"
    if hashlib.md5(text.encode()).hexdigest().upper() != fields['SignatureValue']:
        return HttpResponseForbidden('bad sign')
    if fields['InvId'] == 'o-1':
        open(os.environ['PAID'], 'w').write(fields['Status'])
    return HttpResponse('OK')


urlpatterns = [path('postback', csrf_exempt(postback) if os.environ.get('FIXED') else postback)]
execute_from_command_line([sys.argv[0], 'runserver', '--noreload', f"127.0.0.1:{os.environ['PORT']}"])
